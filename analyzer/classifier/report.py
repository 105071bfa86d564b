"""The report of an evaluation: one Markdown page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path

import numpy as np

from analyzer.classifier.evaluate import Figures, Judged, figures
from analyzer.classifier.labelled import Labelled
from analyzer.model.arrays import Texts
from analyzer.model.labels import HEALTHY
from analyzer.record import dataclass

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
    """Everything that the report tells."""

    labelled: Labelled  # the corpus, without classes that have too few runs
    compared: Mapping[str, Figures]  # candidate -> figures of its cross-fitted answers
    chosen: str  # name of the candidate that is used
    # ``writer``, ``architecture`` (if there are several) and ``configuration`` -> answers of the chosen one
    judged: Mapping[str, Judged]
    # class -> how runs of it were answered by models that never saw it
    unseen: Mapping[str, Mapping[str, float]]
    # (cause, cause given instead, runs) most frequent confusions of a model of single causes
    single_causes: Sequence[tuple[str, str, int]]

    @property
    def strictest(self) -> Judged:
        """The answers on held-out writers, or on the largest groups that there are."""
        return next(iter(self.judged.values()))


def write_report(evaluation: Evaluation, directory: Path) -> Path:
    """Write ``REPORT.md`` into a directory."""
    directory.mkdir(parents=True, exist_ok=True)
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
    ]
    path = directory / "REPORT.md"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return path


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = (head, ["---"] * len(head), *rows)
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


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
    found = [figures(evaluation.judged[by]) for by in groups]

    def cell(value: float, sign: str, wanted: float) -> str:
        met = value >= wanted if sign == ">=" else value <= wanted
        return f"{value:.3f} {'met' if met else '**not met**'}"

    rows = [
        [words, f"{sign} {wanted:g}", *(cell(float(getattr(each, name)), sign, wanted) for each in found)]
        for words, name, sign, wanted in GOALS
    ]
    return "## Goals\n\n" + _table(["goal", "wanted", *(f"leave one {by} out" for by in groups)], rows)


def _figures_table(named: Mapping[str, Figures]) -> str:
    def cells(name: str) -> list[str]:
        values = [getattr(found, name) for found in named.values()]
        return [str(value) if name == "runs" else f"{value:.3f}" for value in values]

    return _table(["", *named], ([_WORDS[field.name], *cells(field.name)] for field in fields(Figures)))


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
    rows = []
    for name in judged.classes:
        own, right = judged.truth == name, judged.best == name
        answered = own & judged.answered
        wrong, counts = np.unique(judged.best[own & ~right], return_counts=True)
        most = f"{wrong[counts.argmax()]} ({counts.max()})" if len(wrong) else ""
        share = f"{right[answered].mean():.2f}" if answered.any() else "-"
        rows.append([name, own.sum(), f"{judged.answered[own].mean():.2f}", share, f"{right[own].mean():.2f}", most])  # fmt: skip
    head = ["class", "runs", "answered", "right of the answered", "right if forced", "most often taken for"]
    return f"## By class ({_strictest(evaluation)})\n\n" + _table(head, rows)


def _false_alarms(evaluation: Evaluation) -> str:
    judged = evaluation.strictest
    healthy = judged.truth == HEALTHY
    twins = np.array([evaluation.labelled.run_ids[row].endswith(("-twin", "-seed")) for row in judged.rows])
    kinds = {
        "twins: nothing planted": healthy & twins,
        "a fault was planted and did not bite": healthy & ~twins,
    }
    fault, fine = (judged.best != HEALTHY) & judged.answered, (judged.best == HEALTHY) & judged.answered
    rows = [
        [words, chosen.sum(), *(f"{each[chosen].mean():.3f}" for each in (fine, fault, ~judged.answered))]
        for words, chosen in kinds.items()
        if chosen.any()
    ]
    head = ["healthy runs", "number", "answered healthy", "answered with a fault", "not answered"]
    return f"## Healthy runs ({_strictest(evaluation)})\n\n" + _table(head, rows)


def _unseen(unseen: Mapping[str, Mapping[str, float]]) -> str:
    if not unseen:
        return ""
    columns = list(next(iter(unseen.values())))
    rows = [
        [name, *(f"{v:.0f}" if column == "runs" else f"{v:.2f}" for column, v in values.items())]
        for name, values in unseen.items()
    ]
    means = [f"{np.mean([values[column] for values in unseen.values()]):.2f}" for column in columns[1:]]
    return (
        "## Classes that training never saw\n\n"
        "Each class is left out of training in turn. `answered` is the share of its runs that got one class all the\n"
        "same; the last three columns are areas under the ROC curve of three novelty scores against known runs.\n\n"
        + _table(["class", *columns], [*rows, ["mean", "", *means]])
    )


def _confused_causes(pairs: Sequence[tuple[str, str, int]]) -> str:
    return (
        "## Why causes share classes\n\n"
        "A model of single causes confuses these most, on held-out configurations (forced answers):\n\n"
        + _table(["cause", "taken for", "runs"], pairs)
    )


def confusions(truth: Texts, answer: Texts, limit: int = 25) -> list[tuple[str, str, int]]:
    """The most frequent wrong pairs."""
    wrong = truth != answer
    pairs, counts = np.unique(np.stack([truth[wrong], answer[wrong]], axis=1), axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:limit]
    return [(str(pairs[i, 0]), str(pairs[i, 1]), int(counts[i])) for i in order]
