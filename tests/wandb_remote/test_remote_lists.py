"""Runs of a project, sweep or group, for triage: filtered by the server, a page at a time."""

import itertools
from datetime import UTC, datetime

import pytest
from wandb_server import StoredRun

from analyzer.errors import FetchError
from analyzer.fetch.address import parse_address
from analyzer.fetch.runs import list_runs, run_filters


@pytest.fixture(scope="module")
def project(backend, environment):
    for number in range(120):
        run = StoredRun(
            f"r{number:03d}",
            state=["finished", "crashed", "failed"][number % 3],
            config={"lr": number / 1000},
            sweep="s1" if number % 2 else None,
            group="night" if number % 5 == 0 else None,
            created=f"2026-10-{1 + number // 10:02d}T00:00:00Z",
        )
        backend.add(run, project="many")
    return f"{backend.url}/acme/many"


def test_pages_are_asked_for_as_they_are_needed(backend, project, session):
    runs = list_runs(parse_address(project), session=session)
    first = list(itertools.islice(runs, 3))
    asked = backend.operations().count("Runs")
    rest = list(runs)

    assert [run.address.run_id for run in first] == ["r110", "r111", "r112"]  # newest first
    assert asked == 1
    assert (len(rest), backend.operations().count("Runs")) == (117, 3)
    assert (first[0].user, first[0].rows, first[0].address.url) == ("ada", 0, f"{project}/runs/r110")


def test_everything_narrows_the_list(project, session):
    address = parse_address(f"{project}/sweeps/s1")
    filters = '{"config.lr": {"$gt": 0.05}}'
    runs = list(
        list_runs(
            address,
            states=["crashed", "failed"],
            since="2026-10-08",
            filter_json=filters,
            limit=5,
            session=session,
        )
    )

    assert [run.address.run_id for run in runs] == ["r113", "r115", "r119", "r101", "r103"]
    assert {run.state for run in runs} == {"crashed", "failed"}


def test_filters_are_one_condition_for_the_server():
    def now():
        return datetime(2026, 1, 8, tzinfo=UTC)

    group = parse_address("https://wandb.ai/a/b/groups/exp%2F1/workspace")

    assert run_filters(parse_address("https://wandb.ai/a/b")) == {}
    assert run_filters(group) == {"group": "exp/1"}
    assert run_filters(group, states=["failed"], since="7d", now=now) == {
        "$and": [
            {"group": "exp/1"},
            {"state": {"$in": ["failed"]}},
            {"createdAt": {"$gte": "2026-01-01T00:00:00Z"}},
        ]
    }


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"states": ["dead"]}, "unknown state 'dead'; W&B knows crashed, failed, finished"),
        ({"since": "yesterday"}, "'yesterday' is no time; give 2026-01-31"),
        ({"filter_json": "{"}, "the filter is not JSON"),
        ({"filter_json": "[1]"}, "the filter is no JSON object"),
    ],
)
def test_a_filter_that_is_none_is_told(options, says):
    with pytest.raises(FetchError) as caught:
        run_filters(parse_address("https://wandb.ai/a/b"), **options)
    assert caught.value.message.startswith(says)
