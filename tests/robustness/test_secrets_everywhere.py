"""Every kind of secret, wherever a run can hold it, stays out of every form of the answer and out of all that is kept."""

import json
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

from command_line import call  # noqa: E402
from test_secrets import KINDS, _split  # noqa: E402  (beside the tests of the net itself)

from analyzer import api  # noqa: E402
from analyzer.render import FORMATS  # noqa: E402

ROWS = "".join(
    f"{{'loss': nan, 'grad_norm': nan, 'learning_rate': 0.1, 'epoch': {i}}}\n" for i in range(1, 9)
)
SECRETS = {kind: secrets for kind, (_, secrets) in ((kind, _split(text)) for kind, text in KINDS.items())}


def write_runs(folder):
    """A run for every tenth of the kinds: each in the log, in an error, in settings and in the command line."""
    kinds = list(KINDS)
    for number in range(10):
        run = folder / f"run{number}"
        run.mkdir(parents=True)
        lines = [_split(KINDS[kind])[0] for kind in kinds[number::10]]
        errors = [
            f'Traceback (most recent call last):\n  File "train.py", line 7, in <module>\n    main()\nRuntimeError: CUDA error near {line}\n'
            for line in lines
        ]
        log = "".join(f"INFO {line}\nERROR: cannot go on: {line}\n" for line in lines)
        (run / "train.log").write_text(ROWS + log + "".join(errors), encoding="utf-8")
        settings = {f"note_{place}": line for place, line in enumerate(lines)}
        (run / "training_args.json").write_text(
            json.dumps({"learning_rate": 0.1, "fp16": True, **settings}), encoding="utf-8"
        )


def found_in(data):
    """Kinds whose secret stands in some bytes."""
    return sorted(kind for kind, secrets in SECRETS.items() if any(s.encode() in data for s in secrets))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("secrets")
    write_runs(folder / "runs")
    return folder


@pytest.fixture(scope="module")
def studied_once():
    """The command line takes up the diagnosis that it made for another form: every form is written from the same."""
    with pytest.MonkeyPatch.context() as patch:
        studied = cache(api.study)
        patch.setattr(api, "study", lambda source, **options: studied(source, offline=options["offline"]))
        yield


@pytest.mark.usefixtures("studied_once")
@pytest.mark.parametrize("form", FORMATS)
def test_no_form_of_an_answer_holds_a_secret(runs, form):
    for run in sorted((runs / "runs").iterdir()):
        done = call(
            "diagnose", run, "--format", form, "--all", "--offline", ANALYZER_CACHE_DIR=str(runs / "cache")
        )
        assert done.returncode == 0, done.stderr
        assert found_in(done.out + done.err) == []


def test_neither_explanations_nor_a_triage_nor_a_cache_hold_a_secret(runs):
    from pyarrow import parquet

    cache = {"ANALYZER_CACHE_DIR": str(runs / "cache")}
    out = runs / "out"
    done = call(
        "triage", runs / "runs", "--out", out, "--report", "all", "--workers", "0", "--offline", **cache
    )
    assert done.returncode == 0, done.stderr
    assert found_in(done.out + done.err) == []
    for run in sorted((runs / "runs").iterdir())[:3]:
        rule = json.loads(call("diagnose", run, "--format", "json", "--offline", **cache).stdout)["findings"][
            0
        ]["rule_id"]
        told = call("explain", rule, run, "--offline", **cache)
        assert found_in(told.out + told.err) == []
    kept = [path for path in (*out.rglob("*"), *(runs / "cache").rglob("*")) if path.is_file()]
    assert any(path.suffix == ".parquet" for path in kept)
    for path in kept:
        text = parquet.read_table(path).to_pylist() if path.suffix == ".parquet" else ""
        assert found_in(path.read_bytes() + repr(text).encode()) == [], path.name
