"""The report of an evaluation: one Markdown page and its plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from analyzer.classifier.evaluate import BINS, Figures, Judged, figures, macro_f1
from analyzer.classifier.labelled import Labelled
from analyzer.errors import InputError
from analyzer.model.labels import HEALTHY

if TYPE_CHECKING:
    import numpy.typing as npt

GOALS = (
    ("macro F1 of the answered runs", "macro_f1", ">=", 0.90),
    ("share of runs answered", "answered", ">=", 0.80),
    ("false alarms on healthy runs", "false_alarms", "<=", 0.03),
    ("expected calibration error", "calibration_error", "<=", 0.05),
)
"""What was asked for, on held-out groups."""

_WORDS = {
    "runs": "runs",
    "answered": "answered",
    "accuracy": "accuracy (answered)",
    "macro_f1": "macro F1 (answered)",
    "macro_f1_all": "macro F1 (all, forced)",
    "false_alarms": "false alarms (answered)",
    "false_alarms_all": "false alarms (forced)",
    "missed": "faults called healthy",
    "covered": "true class in the set",
    "several": "several in the set",
    "empty": "empty set",
    "calibration_error": "calibration error",
}


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Everything that the report tells.

    Attributes:
        labelled: The corpus, without classes that have too few runs.
        compared: Candidate -> figures of its cross-fitted answers.
        chosen: Name of the candidate that is used.
        judged: ``writer``, ``architecture`` (if there are several) and ``configuration`` -> answers of the chosen one.
        unseen: Class -> how runs of it were answered by models that never saw it.
        single_causes: (cause, cause given instead, runs) most frequent confusions of a model of single causes.
    """

    labelled: Labelled
    compared: Mapping[str, Figures]
    chosen: str
    judged: Mapping[str, Judged]
    unseen: Mapping[str, Mapping[str, float]]
    single_causes: Sequence[tuple[str, str, int]]

    @property
    def strictest(self) -> Judged:
        """The answers on held-out writers, or on the largest groups that there are."""
        return next(iter(self.judged.values()))


def write_report(evaluation: Evaluation, directory: Path, *, plots: bool = True) -> Path:
    """Write ``REPORT.md`` and its plots.

    Args:
        evaluation: What was measured.
        directory: Where to write.
        plots: Draw them too; needs matplotlib.

    Raises:
        InputError: Plots are wanted and matplotlib is not installed.
    """
    directory.mkdir(parents=True, exist_ok=True)
    names = _plots(evaluation, directory) if plots else []
    parts = [
        _head(evaluation),
        _goals(evaluation),
        "## Candidates, cross-fitted over configurations (calibrated on the same answers)\n\n"
        + _figures_table(evaluation.compared),
        *(_held_out(evaluation, by) for by in evaluation.judged),
        _classes(evaluation),
        _false_alarms(evaluation),
        _unseen(evaluation.unseen),
        _confused_causes(evaluation.single_causes),
        *(f"![{name.removesuffix('.svg')}]({name})" for name in names),
    ]
    path = directory / "REPORT.md"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return path


def _head(evaluation: Evaluation) -> str:
    labelled = evaluation.labelled
    return (
        "# The anomaly classifier: what it can tell and what not\n\n"
        "Made by `analyzer classifier evaluate`. Every figure is of runs of a group (writer, architecture or\n"
        "configuration) that neither the model nor its calibration saw. *Answered* means that the split-conformal\n"
        "set holds exactly one class; otherwise the classifier abstains.\n\n"
        f"{len(labelled)} labelled runs in {len(set(labelled.shapes))} classes; "
        f"{int((labelled.shapes == HEALTHY).sum())} of them healthy.\n" + _left_out(labelled.left_out)
    )


def _left_out(counts: dict[str, int]) -> str:
    """A line a reason; what stands in brackets behind a reason is counted within it."""
    groups: dict[str, dict[str, int]] = {}
    for reason, count in counts.items():
        text, _, detail = reason.removesuffix(")").partition(" (")
        groups.setdefault(text, {})[detail] = count
    lines = []
    for text, details in sorted(groups.items()):
        named = ", ".join(f"{name} {count}" for name, count in sorted(details.items()) if name)
        lines.append(f"- left out: {sum(details.values())} {text}" + (f" ({named})" if named else ""))
    return "".join(f"\n{line}" for line in lines)


def _goals(evaluation: Evaluation) -> str:
    groups = [by for by in evaluation.judged if by != "configuration"] or ["configuration"]
    rows = ["| goal | wanted | " + " | ".join(f"leave one {by} out" for by in groups) + " |"]
    rows.append("|---|---|" + "---|" * len(groups))
    for words, name, sign, wanted in GOALS:
        cells = []
        for by in groups:
            value = float(getattr(figures(evaluation.judged[by]), name))
            met = value >= wanted if sign == ">=" else value <= wanted
            cells.append(f"{value:.3f} {'met' if met else '**not met**'}")
        rows.append(f"| {words} | {sign} {wanted:g} | " + " | ".join(cells) + " |")
    return "## Goals\n\n" + "\n".join(rows)


def _figures_table(named: Mapping[str, Figures]) -> str:
    shown = [field.name for field in fields(Figures)]
    rows = ["| | " + " | ".join(named) + " |", "|---|" + "---|" * len(named)]
    for name in shown:
        values = [getattr(found, name) for found in named.values()]
        cells = [str(value) if name == "runs" else f"{value:.3f}" for value in values]
        rows.append(f"| {_WORDS[name]} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def _held_out(evaluation: Evaluation, by: str) -> str:
    judged = evaluation.judged[by]
    named = {"all": figures(judged)}
    for group in np.unique(judged.group):
        named[str(group)] = figures(judged, judged.group == group)
    return f"## {evaluation.chosen}, leave one {by} out\n\n" + _figures_table(named)


def _strictest(evaluation: Evaluation) -> str:
    return f"leave one {next(iter(evaluation.judged))} out"


def _classes(evaluation: Evaluation) -> str:
    judged = evaluation.strictest
    rows = [
        f"## By class ({_strictest(evaluation)})\n",
        "| class | runs | answered | right of the answered | right if forced | most often taken for |",
        "|---|---|---|---|---|---|",
    ]
    for name in judged.classes:
        own = judged.truth == name
        answered = own & judged.answered
        right = judged.best == name
        wrong, counts = np.unique(judged.best[own & ~right], return_counts=True)
        most = f"{wrong[counts.argmax()]} ({counts.max()})" if len(wrong) else ""
        share = f"{right[answered].mean():.2f}" if answered.any() else "-"
        rows.append(
            f"| {name} | {own.sum()} | {judged.answered[own].mean():.2f} | {share} | {right[own].mean():.2f} | {most} |"
        )
    return "\n".join(rows)


def _false_alarms(evaluation: Evaluation) -> str:
    judged = evaluation.strictest
    healthy = judged.truth == HEALTHY
    twins = np.array([evaluation.labelled.run_ids[row].endswith(("-twin", "-seed")) for row in judged.rows])
    rows = [
        f"## Healthy runs ({_strictest(evaluation)})\n",
        "| healthy runs | number | answered healthy | answered with a fault | not answered |",
        "|---|---|---|---|---|",
    ]
    for words, chosen in (
        ("twins: nothing planted", healthy & twins),
        ("a fault was planted and did not bite", healthy & ~twins),
    ):
        if not chosen.any():
            continue
        fault = (judged.best != HEALTHY) & judged.answered
        fine = (judged.best == HEALTHY) & judged.answered
        rows.append(
            f"| {words} | {chosen.sum()} | {fine[chosen].mean():.3f} | {fault[chosen].mean():.3f} | {1 - judged.answered[chosen].mean():.3f} |"
        )
    return "\n".join(rows)


def _unseen(unseen: Mapping[str, Mapping[str, float]]) -> str:
    if not unseen:
        return ""
    columns = list(next(iter(unseen.values())))
    rows = [
        "## Classes that training never saw\n",
        (
            "Each class is left out of training in turn. `answered` is the share of its runs that got one class all the\n"
            "same; the last three columns are areas under the ROC curve of three novelty scores against known runs.\n"
        ),
        "| class | " + " | ".join(columns) + " |",
        "|---|" + "---|" * len(columns),
    ]
    for name, values in unseen.items():
        cells = [f"{value:.0f}" if column == "runs" else f"{value:.2f}" for column, value in values.items()]
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    means = [f"{np.mean([values[column] for values in unseen.values()]):.2f}" for column in columns[1:]]
    rows.append("| mean | | " + " | ".join(means) + " |")
    return "\n".join(rows)


def _confused_causes(pairs: Sequence[tuple[str, str, int]]) -> str:
    rows = [
        "## Why causes share classes\n",
        "A model of single causes confuses these most, on held-out configurations (forced answers):\n",
        "| cause | taken for | runs |",
        "|---|---|---|",
    ]
    return "\n".join([*rows, *(f"| {cause} | {other} | {count} |" for cause, other, count in pairs)])


def confusions(
    truth: npt.NDArray[np.str_], answer: npt.NDArray[np.str_], limit: int = 25
) -> list[tuple[str, str, int]]:
    """The most frequent wrong pairs."""
    wrong = truth != answer
    pairs, counts = np.unique(np.stack([truth[wrong], answer[wrong]], axis=1), axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:limit]
    return [(str(pairs[i, 0]), str(pairs[i, 1]), int(counts[i])) for i in order]


def _plots(evaluation: Evaluation, directory: Path) -> list[str]:
    try:
        import matplotlib as mpl
    except ImportError:
        raise InputError(
            'the plots need matplotlib: pip install "training-analyzer[report]", or use --no-plots'
        ) from None
    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "analyzer", "font.size": 9, "figure.dpi": 100})
    import matplotlib.pyplot as plt

    drawn = {"calibration.svg": _calibration, "abstention.svg": _abstention, "confusion.svg": _confusion}
    for name, draw in drawn.items():
        figure, axes = plt.subplots(figsize=(9, 8) if name == "confusion.svg" else (6, 4.5))
        draw(evaluation, axes)
        figure.tight_layout()
        figure.savefig(directory / name, metadata={"Date": None})
        plt.close(figure)
    return list(drawn)


def _calibration(evaluation: Evaluation, axes: Any) -> None:
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=1, label="perfect")
    for by, judged in evaluation.judged.items():
        confidence = judged.probabilities.max(axis=1)
        right = judged.best == judged.truth
        bins = [part for part in np.array_split(np.argsort(confidence), BINS) if len(part)]
        error = figures(judged).calibration_error
        axes.plot(
            [confidence[b].mean() for b in bins],
            [right[b].mean() for b in bins],
            marker="o",
            label=f"leave one {by} out (error {error:.3f})",
        )
    axes.set(
        xlabel="stated probability of the likeliest class", ylabel="share that was right", title="Calibration"
    )
    axes.legend()


def _abstention(evaluation: Evaluation, axes: Any) -> None:
    for by, judged in evaluation.judged.items():
        confidence = judged.probabilities.max(axis=1)
        order = np.argsort(-confidence, kind="stable")
        cuts = np.linspace(0.4, 1.0, 31)
        scores = []
        for cut in cuts:
            kept = order[: max(1, int(cut * len(order)))]
            scores.append(macro_f1(judged.truth[kept], judged.best[kept]))
        (line,) = axes.plot(cuts, scores, label=f"leave one {by} out: the surest runs")
        own = figures(judged)
        axes.plot([own.answered], [own.macro_f1], marker="*", markersize=11, color=line.get_color())
    axes.axhline(0.9, color="0.7", linewidth=1)
    axes.axvline(0.8, color="0.7", linewidth=1)
    axes.set(
        xlabel="share of runs answered",
        ylabel="macro F1 of the answered",
        title="Abstention (star: the conformal set's own choice)",
    )
    axes.legend()


def _confusion(evaluation: Evaluation, axes: Any) -> None:
    judged = evaluation.strictest
    names = judged.classes
    counts = np.zeros((len(names), len(names)))
    np.add.at(counts, (np.searchsorted(names, judged.truth), np.searchsorted(names, judged.best)), 1)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for row, column in np.argwhere(counts > 0):
        axes.text(
            column,
            row,
            int(counts[row, column]),
            ha="center",
            va="center",
            color="white" if shares[row, column] > 0.5 else "black",
        )
    axes.set_xticks(range(len(names)), names, rotation=60, ha="right")
    axes.set_yticks(range(len(names)), names)
    axes.set(
        xlabel="likeliest class",
        ylabel="true class",
        title=f"Confusion, {_strictest(evaluation)} (runs, forced answers)",
    )
