"""People train on runs of their own: a directory with a manifest, its errors, the commands, and the use of the model."""

import csv

import numpy as np
import pytest
from typer.testing import CliRunner

from analyzer import diagnose
from analyzer.classifier import training
from analyzer.classifier.labelled import HELD_OUT, load_labelled
from analyzer.classifier.learning import candidates
from analyzer.classifier.training import CHOSEN
from analyzer.cli.app import app
from analyzer.detect.shapes.forest import VARIABLE, model_in_use
from analyzer.errors import InputError


def curve(kind, rng, points=120):
    share = np.linspace(0, 1, points)
    if kind == "healthy":
        base = 0.5 + 1.8 * np.exp(-rng.uniform(3, 7) * share)
    else:
        base = np.full(points, rng.uniform(2.0, 2.4))
    return base * (1 + 0.02 * rng.standard_normal(points))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    root = tmp_path_factory.mktemp("corpus")
    rng = np.random.default_rng(0)
    with (root / "manifest.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["path", "label"])
        for number in range(110):
            kind = "healthy" if number % 2 else "learning-rate-too-low"
            path = root / f"run-{number}"
            path.mkdir()
            rows = [f"{step},{value:.5f}" for step, value in enumerate(curve(kind, rng))]
            (path / "metrics.csv").write_text("step,loss\n" + "\n".join(rows) + "\n")
            writer.writerow([path.name, kind])
    return root


def run(*arguments):
    return CliRunner().invoke(app, ["classifier", *map(str, arguments)])


@pytest.fixture
def few_trees(monkeypatch):
    """A forest that is small: asked is who is held out or counted and what is used, not how well it judges."""
    forest = candidates()[CHOSEN].set_params(n_estimators=20)
    monkeypatch.setattr(training, "candidates", lambda: {CHOSEN: forest})


@pytest.mark.usefixtures("few_trees")
def test_a_model_trained_on_own_runs_is_used(corpus, tmp_path, monkeypatch):
    model = tmp_path / "own.json"
    done = run("train", corpus, "-o", model)
    assert done.exit_code == 0, done.output
    assert "trained on 110 runs: healthy 55, no-progress 55" in done.output

    monkeypatch.setenv(VARIABLE, str(model))
    model_in_use.cache_clear()
    try:
        found = diagnose(corpus / "run-0")
    finally:
        model_in_use.cache_clear()

    considered = (*found.findings, *found.ruled_out)
    lines = [line for finding in considered for line in finding.evidence if line.id == "classifier"]
    assert lines
    assert lines[0].verdict is True
    assert "the loss hardly moves" in lines[0].because


@pytest.mark.usefixtures("few_trees")
def test_evaluation_holds_groups_out(corpus, tmp_path):
    done = run("evaluate", corpus, "--quick", "--report", tmp_path)

    assert done.exit_code == 0, done.output
    assert "leave one configuration out: 110 runs" in done.output
    report = (tmp_path / "REPORT.md").read_text()
    assert "110 labelled runs in" in report
    assert "| false alarms on healthy runs | <= 0.03 | " in report


def test_a_corpus_without_a_held_out_part_judges_no_model(corpus):
    with pytest.raises(InputError, match="110 not marked as held-out"):
        load_labelled(corpus, part=HELD_OUT)


def test_an_excerpt_gives_the_same_features_as_the_files(corpus, tmp_path):
    path = tmp_path / "excerpt.parquet"
    done = run("excerpt", corpus, "-o", path)
    assert done.exit_code == 0, done.output

    direct, again = load_labelled(corpus), load_labelled(path)

    assert direct.run_ids == again.run_ids
    assert np.array_equal(direct.shapes, again.shapes)
    assert np.allclose(direct.values, again.values, atol=0.02, equal_nan=True)  # curves are kept as float32


@pytest.mark.parametrize(
    ("manifest", "told"),
    [
        (None, "cannot be read"),
        ("path\nrun-1\n", "needs the columns path and label"),
        ("path,label\nrun-1,bad-luck\n", "1 with the unknown label 'bad-luck'"),
        ("path,label\n../elsewhere,healthy\n", "1 outside the corpus"),
        ("path,label\nrun-1,healthy\n", "1 unreadable"),
    ],
)
def test_a_bad_manifest_gets_one_clear_line(tmp_path, manifest, told):
    if manifest is not None:
        (tmp_path / "manifest.csv").write_text(manifest)

    with pytest.raises(InputError, match=told) as caught:
        load_labelled(tmp_path)

    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("few_trees")
def test_too_few_healthy_runs_are_told(corpus, tmp_path):
    rows = (corpus / "manifest.csv").read_text().splitlines()[:49]
    (tmp_path / "manifest.csv").write_text("\n".join(rows) + "\n")
    for row in rows[1:]:
        (tmp_path / row.split(",")[0]).mkdir()
        (tmp_path / row.split(",")[0] / "metrics.csv").write_bytes(
            (corpus / row.split(",")[0] / "metrics.csv").read_bytes()
        )

    done = run("train", tmp_path, "-o", tmp_path / "m.json")

    assert "only 24 healthy runs" in done.output


def test_too_few_runs_are_refused(corpus, tmp_path):
    rows = (corpus / "manifest.csv").read_text().splitlines()
    for name in ("run-0", "run-1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "metrics.csv").write_bytes((corpus / name / "metrics.csv").read_bytes())
    (tmp_path / "manifest.csv").write_text("\n".join(rows[:3]) + "\n")

    done = run("train", tmp_path, "-o", tmp_path / "m.json")

    assert isinstance(done.exception, InputError)
    assert "too few labelled runs" in str(done.exception)


def test_a_file_that_is_no_excerpt_is_refused(tmp_path):
    path = tmp_path / "x.parquet"
    path.write_bytes(b"PAR1 not really")

    with pytest.raises(InputError, match="cannot be read as Parquet"):
        load_labelled(path)
