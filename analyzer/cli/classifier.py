"""``analyzer classifier train|messages|likeness|pool|evaluate|excerpt``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from analyzer.classifier.evaluate import Figures

app = typer.Typer(
    help="Train and evaluate the anomaly classifier on labelled runs.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Corpus = Annotated[
    Path, typer.Argument(help="Directory with a manifest.csv (columns path, label), or a Parquet excerpt.")
]


@app.command("train")
def train_command(
    corpus: Corpus,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")] = Path(
        "classifier.json"
    ),
) -> None:
    """Train a model; use it with ANALYZER_CLASSIFIER=FILE analyzer diagnose RUN."""
    from analyzer.classifier.evaluate import Figures
    from analyzer.classifier.labelled import load_labelled
    from analyzer.classifier.learning import ENOUGH_HEALTHY
    from analyzer.classifier.training import train, write_model
    from analyzer.model.labels import HEALTHY

    labelled = load_labelled(corpus)
    _, _, data = train(labelled)
    write_model(data, output)
    about = data["about"]
    classes = ", ".join(f"{name} {count}" for name, count in about["runs_by_class"].items())
    healthy = about["runs_by_class"].get(HEALTHY, 0)
    if healthy < ENOUGH_HEALTHY:
        typer.echo(
            f"only {healthy} healthy runs: with fewer than {ENOUGH_HEALTHY} it can never rule health out, so it will name no fault",
            err=True,
        )
    typer.echo(f"trained on {about['runs']} runs: {classes}")
    _print_figures("on configurations it was not trained on", Figures(**about["cross_fitted"]))
    if "held_out" in about:
        _print_figures("on the held-out part", Figures(**about["held_out"]))
    typer.echo(f"written to {output} ({output.stat().st_size / 1e6:.2f} MB)")


@app.command("messages")
def messages_command(
    corpus: Annotated[
        list[Path],
        typer.Argument(
            help="Folders of *.yaml files 'cause | further causes: [messages]', and labelled logs (*.parquet)."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")] = Path(
        "messages.linear"
    ),
) -> None:
    """Train the reader of messages on labelled messages and logs, and the examples of all patterns."""
    from analyzer.classifier.messages import load_corpus, train_messages
    from analyzer.detect.linear import write_linear
    from analyzer.rules.load import load_rules

    arrays, found = train_messages(load_corpus(corpus, load_rules()))
    write_linear(arrays, output)
    typer.echo(
        f"trained on {found['messages']:.0f} messages and {found['logs']:.0f} labelled logs of {found['causes']:.0f} causes; on logs "
        f"held out: the first cause right {found['top1']:.0%}, one of three {found['top3']:.0%}"
    )
    typer.echo(f"written to {output} ({output.stat().st_size / 1e6:.2f} MB)")


@app.command("likeness")
def likeness_command(
    casebook: Annotated[Path, typer.Argument(help="Casebook: a file of records, or a folder of such files.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")] = Path(
        "likeness.linear"
    ),
) -> None:
    """Train the likeness model on labelled runs: what runs with such numbers turned out to be."""
    from analyzer.casebook.record import good_records
    from analyzer.classifier.likeness import labelled_marks, train_likeness
    from analyzer.detect.linear import write_linear

    arrays, found = train_likeness(labelled_marks(good_records([casebook])))
    write_linear(arrays, output)
    typer.echo(
        f"trained on {found['runs']:.0f} runs with numbers; on groups held out, of {found['faulty']:.0f} faulty runs the first "
        f"cause right {found['top1']:.0%}, one of three {found['top3']:.0%}; of the {found['unseen']:.0f} that no rule was "
        f"written with {found['unseen_top1']:.0%} and {found['unseen_top3']:.0%}"
    )
    typer.echo(f"written to {output} ({output.stat().st_size / 1e6:.2f} MB)")


@app.command("pool")
def pool_command(
    casebook: Annotated[Path, typer.Argument(help="Casebook: a file of records, or a folder of such files.")],
    corpus: Annotated[list[Path], typer.Argument(help="What the reader of messages is trained on.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="File of weights to write.")] = Path(
        "pool.json"
    ),
) -> None:
    """Fit how much rules, words and numbers count where a cause is named by all of them."""
    import json

    from analyzer.casebook.record import good_records
    from analyzer.classifier.messages import load_corpus
    from analyzer.classifier.pool import train_pool
    from analyzer.rules.load import load_rules

    rules = load_rules()
    weights, found = train_pool(good_records([casebook]), load_corpus(corpus, rules), rules)
    output.write_text(json.dumps(weights, indent=2) + "\n", encoding="utf-8")
    typer.echo(
        f"fitted on {found['message.runs']:.0f} failures with words and {found['likeness.runs']:.0f} courses of numbers; on places held "
        f"out the first cause right {found['message.top1']:.1%} and {found['likeness.top1']:.1%}"
    )
    typer.echo(f"written to {output}")


@app.command("evaluate")
def evaluate_command(
    corpus: Corpus,
    model: Annotated[
        Path | None,
        typer.Option("--model", help="Evaluate this model file on the held-out part of the corpus instead."),
    ] = None,
    shipped: Annotated[
        bool, typer.Option("--shipped", help="The same for the model that comes with analyzer.")
    ] = False,
    report: Annotated[Path | None, typer.Option("--report", help="Directory for REPORT.md.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Only the chosen kind of model.")] = False,
) -> None:
    """Evaluate the classifier on unseen groups: one writer, one architecture at a time."""
    from analyzer.classifier.evaluate import figures
    from analyzer.classifier.labelled import HELD_OUT, load_labelled
    from analyzer.classifier.report import write_report
    from analyzer.classifier.training import evaluate, judge
    from analyzer.detect.shapes.forest import SHIPPED, read_model

    if model is not None or shipped:
        read = read_model(SHIPPED if model is None else model)
        _print_figures("on the held-out part", figures(judge(read, load_labelled(corpus, part=HELD_OUT))))
        return
    evaluation = evaluate(load_labelled(corpus), compare=not quick)
    for by, judged in evaluation.judged.items():
        _print_figures(f"leave one {by} out", figures(judged))
    if report is not None:
        typer.echo(f"written to {write_report(evaluation, report)}")


@app.command("excerpt")
def excerpt_command(
    corpora: Annotated[list[Path], typer.Argument(help="Directories with a manifest.csv each.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Parquet file to write.")],
) -> None:
    """Put the curves and labels of corpora into one Parquet file, a quarter of the configurations held out."""
    from analyzer.classifier.labelled import make_excerpt

    count = make_excerpt(corpora, output)
    typer.echo(f"{count} runs in {output} ({output.stat().st_size / 1e6:.2f} MB)")


def _print_figures(what: str, found: Figures) -> None:
    typer.echo(
        f"{what}: {found.runs:.0f} runs, {found.answered:.0%} answered, macro F1 {found.macro_f1:.2f}, "
        f"false alarms {found.false_alarms:.1%}, calibration error {found.calibration_error:.3f}"
    )
