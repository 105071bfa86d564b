"""The genuine runs under samples/: the right cause first, the look-alikes below it, silence where nothing is wrong."""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import analyzer
from analyzer.errors import InputError
from analyzer.ingest.discover import load_run
from tests.shipped_samples import diagnosed

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "samples"
EXPECTED = json.loads((ROOT / "tests" / "samples_expected.json").read_text(encoding="utf-8"))
FAILED = sorted(path.relative_to(SAMPLES).as_posix() for path in (SAMPLES / "failed").iterdir())
SOUND = sorted(
    path.relative_to(SAMPLES).as_posix()
    for kind in ("healthy", "fixed")
    for path in (SAMPLES / kind).iterdir()
)
FAULTS = {"fatal", "degrading"}


def considered(dx):
    return [*dx.findings, *dx.ruled_out]


def test_every_failed_sample_has_an_expectation():
    assert sorted(EXPECTED) == FAILED


@pytest.mark.parametrize("name", FAILED)
def test_the_cause_stands_first_and_its_look_alikes_below_with_a_reason(name):
    expected = EXPECTED[name]
    dx = diagnosed(SAMPLES / name)
    causes = [finding.cause.id for finding in considered(dx)]

    assert dx.status == expected["status"]
    assert causes[0] in expected["first"]
    assert dx.findings[0].probability >= 0.5
    for rival in expected["below"]:
        finding = dx.finding(rival)
        assert finding is not None, f"{rival} was not even considered; considered were {causes}"
        assert finding.probability < dx.findings[0].probability
    for candidate in expected.get("among_first_three", []):
        assert candidate in causes[:3]
    if "next_check" in expected:
        assert any(expected["next_check"] in check.how for check in dx.next_checks)
    if "explains" in expected:
        assert any(expected["explains"] in text for text in dx.findings[0].explains)


@pytest.mark.parametrize("name", FAILED)
def test_every_counted_line_of_the_leading_cause_cites_a_source_and_a_cure_is_named(name):
    top = diagnosed(SAMPLES / name).findings[0]

    assert top.speaks_for()
    for line in top.evidence:
        if line.counted and line.verdict is not None and line.values:
            assert line.refs, f"{line.id} cites nothing"
    assert top.fixes
    assert top.fixes[0].strength == EXPECTED[name].get("fix", "cures")


@pytest.mark.parametrize("name", [name for name in FAILED if "rank" in EXPECTED[name]])
def test_of_several_ranks_the_one_at_fault_is_named(name):
    expected = EXPECTED[name]
    dx = diagnosed(SAMPLES / name)

    if expected["rank_is_first"]:
        assert dx.first_failure.rank == expected["rank"]
        assert dx.first_failure.followers == expected["followers"]
        assert dx.first_failure.launcher_rank == expected.get("launcher_blames")
    else:
        assert f"rank {expected['rank']} " in dx.findings[0].symptom.lower()


@pytest.mark.parametrize("name", SOUND)
def test_a_healthy_or_fixed_run_shows_no_fault(name):
    dx = diagnosed(SAMPLES / name)

    assert [(f.cause.id, f.probability) for f in dx.findings if f.severity in FAULTS] == []
    assert dx.status == "healthy"


@pytest.mark.parametrize("name", [*FAILED, *SOUND])
def test_samples_are_small_and_say_what_is_genuine(name):
    folder = SAMPLES / name
    size_bytes = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())

    assert size_bytes < 500_000
    assert (folder / "SOURCE.md").read_text(encoding="utf-8").strip()


@pytest.mark.parametrize(
    ("failed", "baseline", "key"),
    [
        (
            "failed/tinyllama-fp16-unpacked-grad-nan",
            "healthy/tinyllama-fp16-packed",
            "fully-masked-attention-row",
        ),
        ("failed/qwen2-fp16-sft-loss-zero", "healthy/qwen2-bf16-sft", "bf16-pretrained-model-in-fp16"),
    ],
)
def test_a_baseline_that_worked_makes_the_cause_surer(failed, baseline, key):
    alone = diagnosed(SAMPLES / failed).finding(key)
    together = analyzer.diagnose(SAMPLES / failed, baseline=SAMPLES / baseline).finding(key)

    assert together.bits > alone.bits


def test_the_onset_behind_a_window_mean_is_told_as_an_interval():
    dx = diagnosed(SAMPLES / "failed" / "llama3-8b-fp16-zero2-nan-at-20")

    assert "between 11 and 20" in dx.findings[0].symptom


def test_the_fix_is_a_diff_of_the_users_own_file():
    dx = diagnosed(SAMPLES / "failed" / "qwen2-fp16-sft-loss-zero")
    change = dx.findings[0].fixes[0].changes[0]

    assert change.path == "train_config.yaml"
    assert "-fp16: true" in change.diff
    assert "+bf16: true" in change.diff


TRUNCATED = [
    path
    for name in (*FAILED, *SOUND)
    for path in sorted((SAMPLES / name).rglob("*"))
    if path.is_file() and path.name != "SOURCE.md"
]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_a_file_of_a_sample_cut_at_any_byte_is_read_without_an_exception(data, tmp_path_factory):
    path = data.draw(st.sampled_from(TRUNCATED))
    content = path.read_bytes()
    cut = data.draw(st.integers(0, len(content)))
    folder = tmp_path_factory.mktemp("cut")
    (folder / path.name).write_bytes(content[:cut])
    try:
        load_run(folder)
    except InputError:
        pass  # nothing left to read is told as such
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("name", FAILED)
def test_a_failed_run_without_its_last_third_of_log_is_never_called_healthy_by_mistake(name, tmp_path):
    shutil.copytree(SAMPLES / name, tmp_path / "run")
    log = tmp_path / "run" / "train.log"
    content = log.read_bytes()
    log.write_bytes(content[: len(content) * 2 // 3])
    dx = analyzer.diagnose(tmp_path / "run")

    assert dx.status == EXPECTED[name]["status"]
