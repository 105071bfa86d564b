"""The same result, byte by byte, from every engine; and what happens when an engine loses a worker."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import pytest
from fleets import arm, content, harmful, write_fleet

from analyzer.errors import InputError
from analyzer.triage.campaign import Campaign, merge_shards, run_campaign
from analyzer.triage.places import open_place
from analyzer.triage.plan import make_plan
from analyzer.triage.specs import Options
from analyzer.triage.store import Dataset


def silent(*_):
    return None


def triage(root, out, **settings):
    campaign = Campaign(open_place(str(out)), Options(), **{"workers": 2, **settings})
    return run_campaign(campaign, make_plan([str(root)]), silent)


def two_processes():
    """An executor as a user would give it."""
    return ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))


@pytest.fixture
def dask_is_quiet():
    """Dask's clusters close loops and sockets late, which the interpreter calls a leak."""
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    import logging

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    return distributed


NOISY = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning", "ignore::UserWarning"
)


def problems(out):
    rows = Dataset(open_place(str(out))).runs(["location", "outcome", "problem"])
    return {
        row["location"].rpartition("/")[2]: row["problem"] for row in rows if row["outcome"] != "diagnosed"
    }


@NOISY
def test_local_dask_shards_and_any_executor_give_the_same_bytes(tmp_path, dask_is_quiet):
    root = write_fleet(tmp_path / "fleet", 5)
    triage(root, tmp_path / "serial", workers=0)
    triage(root, tmp_path / "local")
    triage(root, tmp_path / "dask", engine="dask")
    triage(root, tmp_path / "executor", engine="test_engines:two_processes")
    for part in (2, 1):
        triage(root, tmp_path / "shards-out" / "shards" / f"{part:05d}-of-00002", shard=(part, 2), workers=0)
    merge_shards(Campaign(open_place(str(tmp_path / "shards-out")), Options(), workers=0), silent)
    expected = content(tmp_path / "serial")

    assert len(expected) == 4
    for name in ("local", "dask", "executor"):
        assert content(tmp_path / name) == expected, name
    merged = {k: v for k, v in content(tmp_path / "shards-out").items() if not k.startswith("shards/")}
    assert merged == expected


@NOISY
def test_a_dask_worker_that_is_killed_loses_no_run(tmp_path, monkeypatch, dask_is_quiet):
    arm(monkeypatch, tmp_path / "arms")
    root = write_fleet(tmp_path / "fleet", 6)
    harmful(root, "victim", "kill-parent", once=tmp_path / "killed-once")
    triage(root, tmp_path / "out", engine="dask")

    assert (tmp_path / "killed-once").exists()
    assert problems(tmp_path / "out") == {}
    assert Dataset(open_place(str(tmp_path / "out"))).manifest["runs"] == 7


@NOISY
def test_a_run_that_always_kills_its_worker_is_named_under_dask(tmp_path, monkeypatch, dask_is_quiet):
    arm(monkeypatch, tmp_path / "arms")
    root = write_fleet(tmp_path / "fleet", 6)
    harmful(root, "poison", "kill")
    triage(root, tmp_path / "out", engine="dask")

    assert list(problems(tmp_path / "out")) == ["poison"]
    assert "killed by SIGKILL" in problems(tmp_path / "out")["poison"]


def test_a_pool_that_breaks_is_made_anew_and_the_culprit_is_named(tmp_path, monkeypatch):
    arm(monkeypatch, tmp_path / "arms")
    root = write_fleet(tmp_path / "fleet", 6)
    harmful(root, "killer", "kill-parent")
    triage(root, tmp_path / "out", engine="test_engines:two_processes")

    assert list(problems(tmp_path / "out")) == ["killer"]
    assert "the engine lost its worker 3 times" in problems(tmp_path / "out")["killer"]


@pytest.mark.parametrize(
    ("engine", "text"),
    [
        ("ray", "not an engine"),
        ("no_such_module:make", "cannot be imported"),
        ("json:loads_nothing", "cannot be imported"),
        ("builtins:dict", "has no submit"),
    ],
)
def test_an_engine_that_cannot_be_had_is_an_error_of_one_line(tmp_path, engine, text):
    with pytest.raises(InputError, match=text):
        triage(write_fleet(tmp_path / "fleet", 2), tmp_path / "out", engine=engine)


def test_a_shard_takes_its_part_and_says_so(tmp_path):
    root = write_fleet(tmp_path / "fleet", 12)
    counts = [triage(root, tmp_path / f"{part}", shard=(part, 3), workers=0).done for part in (1, 2, 3)]

    assert sum(counts) == 12
    assert Dataset(open_place(str(tmp_path / "2"))).manifest["shard"] == [2, 3]


def test_a_missing_shard_is_told(tmp_path):
    root = write_fleet(tmp_path / "fleet", 12)
    for part in (1, 3):
        triage(root, tmp_path / "out" / "shards" / f"{part:05d}-of-00002", shard=(part, 2), workers=0)
    result = merge_shards(Campaign(open_place(str(tmp_path / "out")), Options(), workers=0), silent)

    assert result.missing == [2]
    assert Dataset(open_place(str(tmp_path / "out"))).manifest["complete"] is False


def test_shards_of_different_numbers_are_not_merged(tmp_path):
    root = write_fleet(tmp_path / "fleet", 4)
    triage(root, tmp_path / "out" / "shards" / "a", shard=(1, 2), workers=0)
    triage(root, tmp_path / "out" / "shards" / "b", shard=(1, 3), workers=0)

    with pytest.raises(InputError, match="the shards differ"):
        merge_shards(Campaign(open_place(str(tmp_path / "out")), Options()), silent)
    with pytest.raises(InputError, match="no shards to merge"):
        merge_shards(Campaign(open_place(str(tmp_path / "empty")), Options()), silent)
