"""What the fleet says: bad hosts against chance, shared failures, new shapes, baselines, hours."""

import json
import random

import pytest
from fleets import CONFIG, OOM, ROWS, TRACEBACK, write_fleet, write_run

from analyzer.triage.baselines import choose_baselines
from analyzer.triage.campaign import Campaign, run_campaign
from analyzer.triage.nodes import NodeCensus, tail_of_hypergeometric
from analyzer.triage.places import open_place
from analyzer.triage.plan import make_plan
from analyzer.triage.specs import Options
from analyzer.triage.store import RUN_COLUMNS, Dataset
from analyzer.triage.summary import FleetSummary, ShapeCensus


def row(number, **values):
    """A row of the runs table with the columns that matter here."""
    made = {name: None for name, _, _ in RUN_COLUMNS}
    made.update(
        key=f"{number:016x}", location=f"runs/{number:04d}", outcome="diagnosed", status="failed", status_alone="failed",
        hosts=[], frameworks=[], gaps=[], summary="", config="{}", tool_version="1",
    )  # fmt: skip
    return {**made, **values}


def summed(rows):
    summary = FleetSummary()
    for item in rows:
        summary.add({"run": item, "findings": []})
    return summary


HARDWARE = {
    "cause_id": "gpu-ecc-uncorrected",
    "cause_family": "hardware",
    "cause_kind": "cause",
    "restart": "restart-excluding-node",
}


def fleet_with_bad_node(seed):
    """200 jobs on 20 hosts of which a tenth fails, and one host on which nearly all do."""
    chance = random.Random(seed)
    for number in range(200):
        host = f"node-{chance.randrange(20)}"
        failed = chance.random() < (0.9 if host == "node-7" else 0.1)
        yield row(
            number,
            hosts=[host],
            first_host=host,
            **({"status": "failed", **HARDWARE} if failed else {"status": "healthy"}),
        )


@pytest.mark.parametrize("seed", range(5))
def test_a_host_on_which_jobs_fail_is_accused(seed):
    assert summed(fleet_with_bad_node(seed)).bad_nodes() == {"node-7"}


def test_chance_accuses_few_hosts():
    accused = 0
    for seed in range(40):
        chance = random.Random(seed)
        rows = [
            row(
                n,
                hosts=[f"node-{chance.randrange(20)}"],
                **(HARDWARE if chance.random() < 0.3 else {"status": "healthy"}),
            )
            for n in range(200)
        ]
        accused += bool(summed(rows).bad_nodes())

    assert accused <= 4  # 5 % of 40 fleets is 2


def test_the_busiest_host_is_not_accused_for_being_busy():
    rows = [
        row(
            n,
            hosts=["busy"] if n % 10 else [f"node-{n}"],
            **(HARDWARE if n % 3 == 0 else {"status": "healthy"}),
        )
        for n in range(120)
    ]
    census = NodeCensus()
    for item in rows:
        census.add(item)
    busy = next(verdict for verdict in census.verdicts() if verdict.host == "busy")

    assert busy.failures > 30
    assert not busy.bad


def test_a_host_that_always_fails_first_is_accused_although_no_job_was_healthy():
    chance = random.Random(1)
    rows = []
    for number in range(12):
        others = chance.sample([f"node-{n}" for n in range(50)], 7)
        rows.append(row(number, hosts=["node-bad", *others], first_host="node-bad", **HARDWARE))
    verdict = summed(rows).nodes()[0]

    assert (verdict.host, verdict.bad, verdict.question) == ("node-bad", True, "who failed first")


def test_without_anything_to_compare_no_host_is_accused():
    verdict = summed([row(n, hosts=["only"], **HARDWARE) for n in range(9)]).nodes()[0]

    assert (verdict.p, verdict.bad) == (None, False)


def test_failures_of_the_users_own_code_do_not_count_against_a_host():
    bug = {
        "cause_id": "user-code-exception",
        "cause_family": "software",
        "cause_kind": "cause",
        "restart": "fix-then-restart",
    }
    rows = [row(n, hosts=["node-7"], **bug) for n in range(20)] + [
        row(n, hosts=["node-8"], status="healthy") for n in range(50, 90)
    ]

    assert summed(rows).nodes() == []


def test_the_hypergeometric_tail_agrees_with_counting():
    from itertools import combinations

    draws = list(combinations(range(9), 4))
    share = sum(sum(item < 4 for item in draw) >= 3 for draw in draws) / len(draws)

    assert tail_of_hypergeometric(9, 4, 4, 3) == pytest.approx(share)


def test_unexplained_failures_are_put_together_by_what_their_last_words_have_in_common():
    census = ShapeCensus()
    for number, name in enumerate(["corpus-a", "corpus-b", "corpus-a"]):
        template = f"ValueError: shard <n> of {name} is empty"
        census.add(
            row(
                number,
                template=template,
                shape="exception, before any step",
                last_words=f"shard {number}",
                user=f"u{number}",
            )
        )
    census.add(
        row(
            9,
            template="Segmentation fault in libfabric after <n> calls",
            shape="fatal, before any step",
            last_words="x",
        )
    )
    shapes = census.shapes()

    assert [(shape.runs, shape.variants, shape.users) for shape in shapes] == [(3, 2, 3), (1, 1, 0)]
    assert shapes[0].example == "shard 0"


def test_the_order_of_runs_does_not_change_a_summary():
    rows = [*fleet_with_bad_node(3)]
    shuffled = rows[:]
    random.Random(0).shuffle(shuffled)

    def plain(items):
        data = summed(items).to_dict()
        for tally in [
            data["failed"],
            data["degraded"],
            *data["causes"],
            *(t for group in data["by"].values() for t in group),
        ]:
            tally.pop("examples")  # the first ones in order of location
        for node in data["nodes"]:
            node.pop("examples")
        return data

    assert plain(rows) == plain(shuffled)


def settings(**changes):
    base = {f"train.setting_{n}": n for n in range(12)}
    return json.dumps({**base, **changes})


def test_the_baseline_is_the_healthy_run_that_differs_least():
    rows = [
        row(1, status_alone="failed", config=settings(lr=2)),
        row(2, status_alone="healthy", config=settings(lr=1)),
        row(3, status_alone="healthy", config=settings(lr=1, batch=7, **{"train.setting_1": 99})),
        row(4, status_alone="healthy", config=settings(lr=2), model="another"),
        row(5, status_alone="insufficient", config=settings(lr=2)),
    ]

    assert choose_baselines(rows, rows) == {f"{1:016x}": f"{2:016x}"}


def test_runs_with_little_in_common_are_no_baselines():
    rows = [
        row(1, config=settings()),
        row(2, status_alone="healthy", config=json.dumps({f"train.setting_{n}": n + 1 for n in range(12)})),
        row(3, status_alone="healthy", config=json.dumps({"train.setting_1": 1})),
    ]

    assert choose_baselines(rows, rows) == {}


def triage(root, out, **settings):
    campaign = Campaign(open_place(str(out)), Options(), workers=0, **settings)
    result = run_campaign(campaign, make_plan([str(root)]), lambda *_: None)
    return result.summary, {r["location"].rpartition("/")[2]: r for r in Dataset(open_place(str(out))).runs()}


def test_a_baseline_is_found_and_used_as_evidence(tmp_path):
    broken = {
        **CONFIG,
        "optimizer": {"type": "AdamW", "params": {"lr": 0.1, "betas": [0.9, 0.95], "weight_decay": 0.1}},
    }
    bad = "".join(
        f"{{'loss': {3 + step}, 'grad_norm': nan, 'learning_rate': 0.1, 'epoch': {step / 10}}}\n"
        for step in range(1, 31)
    )
    write_run(
        tmp_path / "fleet" / "good", ROWS + "{'train_runtime': 12.0, 'train_loss': 1.5, 'epoch': 3.0}\n"
    )
    write_run(tmp_path / "fleet" / "bad", bad, broken)
    summary, rows = triage(tmp_path / "fleet", tmp_path / "out")
    _, alone = triage(tmp_path / "fleet", tmp_path / "alone", baselines=False)
    findings = [record["findings"] for record in Dataset(open_place(str(tmp_path / "out"))).records()]
    used = {line["observed"] for lines in findings for finding in lines for line in finding["evidence"]}

    assert summary.baselines == 1
    assert rows["bad"]["baseline"].endswith("good")
    assert rows["good"]["baseline"] is None
    assert alone["bad"]["baseline"] is None
    assert any("compare.baseline" in text for text in used)


def test_a_baseline_that_brings_trouble_costs_the_comparison_and_not_the_diagnosis(tmp_path, monkeypatch):
    from analyzer.triage import worker

    def trouble(loaded, rules, baseline, *rest):
        if baseline is not None:
            raise ZeroDivisionError
        return real(loaded, rules, baseline, *rest)

    real = worker.diagnose_loaded
    monkeypatch.setattr(worker, "diagnose_loaded", trouble)
    summary, rows = triage(write_fleet(tmp_path / "fleet", 6), tmp_path / "out")

    assert summary.problems == []
    assert {r["outcome"] for r in rows.values()} == {"diagnosed"}
    assert {r["baseline"] for r in rows.values()} == {None}


def test_runs_with_the_same_bug_are_one_group_across_users(tmp_path):
    summary, rows = triage(write_fleet(tmp_path / "fleet", 12), tmp_path / "out")
    groups = {group["cause"]: group for group in summary.shared_failures()}
    memory = next(group for cause, group in groups.items() if "oom" in cause or "memory" in cause)

    assert memory["runs"] == 4
    assert memory["users"] == ["alice", "bob"]
    assert len({r["fingerprint"] for r in rows.values() if r["cause_id"] == memory["cause"]}) == 1


def test_rows_of_numbers_do_not_make_one_root_failure(tmp_path):
    flat = "epoch,loss,accuracy\n" + "".join(f"{step},0.6931,0.5\n" for step in range(40))
    for name in ("a", "b"):
        write_run(tmp_path / "fleet" / name, ROWS, None)
        (tmp_path / "fleet" / name / "log.csv").write_text(flat, encoding="utf-8")
        (tmp_path / "fleet" / name / "train.log").unlink()
    summary, rows = triage(tmp_path / "fleet", tmp_path / "out")

    assert rows["a"]["cause_id"] is not None
    assert summary.shared_failures() == []


def test_hours_are_unknown_where_gpus_or_times_are(tmp_path):
    stamped = "".join(
        f"2026-10-01 0{hour}:00:00,000 INFO node-1: loss: {3 - hour / 10} step: {hour}\n"
        for hour in range(1, 9)
    )
    write_run(tmp_path / "fleet" / "no-gpus", stamped + TRACEBACK + "ValueError: x\n", None)
    launched = "[2026-10-01 01:00:00,000] [INFO] [launch.py:162:main] dist_world_size=8\n" + stamped
    write_run(tmp_path / "fleet" / "eight", launched + "2026-10-01 08:30:00,000 " + OOM, None)
    _, rows = triage(tmp_path / "fleet", tmp_path / "out")

    assert rows["no-gpus"]["gpu_hours"] is None
    assert rows["eight"]["gpus"] == 8
    assert rows["eight"]["gpu_hours"] == pytest.approx(60.0, rel=0.1)


def test_every_column_of_the_dataset_is_described_and_typed(tmp_path):
    import pyarrow.parquet as pq

    triage(write_fleet(tmp_path / "fleet", 3), tmp_path / "out")
    for table in ("runs", "findings"):
        schema = pq.read_schema(next((tmp_path / "out" / table).glob("*.parquet")))

        assert schema.metadata[b"schema"] == b"analyzer.triage/1"
        assert all(field.metadata[b"meaning"] for field in schema)
