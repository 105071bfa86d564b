"""The flight recorder names the rank at fault and no other, and says how it differs."""

from __future__ import annotations

from pathlib import Path

import pytest
from flight_dumps import Job, tensor_parallel

from analyzer.detect import run_detectors
from analyzer.facts.build import build_facts
from analyzer.ingest.discover import load_run

PUBLIC = Path(__file__).parents[3] / ".." / "shared" / "data" / "public" / "flight-recorder"
PREFIX = "signal.flight."


def facts_of(directory):
    plain = build_facts(run_detectors(load_run(directory).run)).plain
    return {name.removeprefix(PREFIX): value for name, value in plain.items() if name.startswith(PREFIX)}


def stall(job, culprits):
    """The culprits issue nothing more; all others go on until they wait."""
    late = set(culprits)
    blocked = set()
    for name, (_, members) in job.groups.items():
        if name.startswith("tp"):
            going = [rank for rank in members if rank not in late]
            for _ in range(3):
                job.call(name, ranks=going, finished=not late.intersection(members))
            blocked |= set(going) if late.intersection(members) else set()
    for name, (_, members) in job.groups.items():
        if name.startswith("dp"):
            free = [rank for rank in members if rank not in late | blocked]
            job.call(name, ranks=free, finished=len(free) == len(members))
    return job


class TestWhoIsAtFault:
    @pytest.mark.parametrize("as_json", [False, True])
    @pytest.mark.parametrize("culprits", [(6,), (2, 13), (0, 1)])
    def test_hosts_that_stand_still(self, tmp_path, culprits, as_json):
        facts = facts_of(stall(tensor_parallel(), culprits).write(tmp_path, as_json=as_json))

        assert facts["faulty_ranks"] == " and ".join(map(str, culprits))
        assert facts["never_issued"] is True
        assert facts["host_still"] is True
        assert facts["device_stopped"] is False
        assert facts["waiting_ranks"] == 16 - len(culprits)

    def test_device_that_stops(self, tmp_path):
        job = tensor_parallel()
        for _ in range(5):
            # The peers finish two more, rank 9 finishes none; then all wait.
            job.call("tp8", ranks=[9], finished=False)
        for number in range(5):
            job.call("tp8", ranks=[8, 10, 11], finished=number < 2)

        facts = facts_of(job.write(tmp_path))

        assert facts["faulty_ranks"] == "9"
        assert facts["device_stopped"] is True
        assert facts["never_issued"] is False

    def test_state_scheduled_of_finished_collectives_is_not_believed(self, tmp_path):
        facts = facts_of(tensor_parallel().write(tmp_path, keep_finished=True))

        assert facts["stuck"] is False
        assert "faulty_ranks" not in facts

    def test_one_rank_issues_more_than_all_others(self, tmp_path):
        job = tensor_parallel()
        job.call("0", "barrier", ranks=[0], finished=False)

        facts = facts_of(job.write(tmp_path))

        assert facts["few_ahead"] is True
        assert facts["faulty_count"] == 15

    def test_groups_that_wait_for_one_another(self, tmp_path):
        job = Job(2)
        for name in ("a", "b"):
            job.add_group(name, "", [0, 1])
            job.call(name)
        job.call("a", ranks=[0], finished=False)
        job.call("b", ranks=[1], finished=False)

        facts = facts_of(job.write(tmp_path))

        assert facts["circular"] is True
        assert "faulty_ranks" not in facts

    def test_rank_without_a_dump_is_told_and_nobody_is_accused(self, tmp_path):
        job = tensor_parallel(4)
        job.call("tp0", ranks=[0, 1, 2], finished=False)

        facts = facts_of(job.write(tmp_path, without=[3]))

        assert facts["without_dump"] == "3"
        assert facts["same_everywhere"] is True
        assert "faulty_ranks" not in facts

    def test_receive_without_a_sender(self, tmp_path):
        job = Job(2)
        job.add_group("pp", "PIPELINE", [0, 1])
        job.call("pp", "recv 1<-0", ranks=[1], finished=False)

        facts = facts_of(job.write(tmp_path))

        assert (facts["unmatched_sender"], facts["unmatched_receive"]) == (0, "recv 1<-0")


class TestMismatch:
    @pytest.mark.parametrize(
        ("odd", "aspect"),
        [
            ({"op": "_all_gather_base"}, "operation"),
            ({"dtype": "BFloat16"}, "type"),
            ({"elements": 900}, "size"),
        ],
    )
    def test_the_odd_rank_is_named(self, tmp_path, odd, aspect):
        job = tensor_parallel(4)
        for rank in range(4):
            job.call("0", ranks=[rank], finished=False, **(odd if rank == 2 else {}))

        facts = facts_of(job.write(tmp_path))

        assert facts["mismatch_ranks"] == "2"
        assert facts["mismatch_seq"] == 41
        assert [name for name in ("operation", "type", "size") if facts[f"different_{name}"]] == [aspect]

    def test_uneven_sizes_are_allowed_where_the_operation_allows_them(self, tmp_path):
        job = Job(4)
        for rank in range(4):
            job.call("0", "all_to_all", ranks=[rank], elements=100 + rank, finished=False)

        assert facts_of(job.write(tmp_path))["different_size"] is False

    def test_two_ranks_that_differ_accuse_nobody(self, tmp_path):
        job = Job(2)
        job.call("0", ranks=[0], finished=False)
        job.call("0", "broadcast", ranks=[1], finished=False)

        facts = facts_of(job.write(tmp_path))

        assert facts["different_operation"] is True
        assert "mismatch_ranks" not in facts


RULES = Path(__file__).parents[3] / "rules" / "distributed"


def test_genuine_dumps_of_gloo():
    """Recorders of gloo leave the names of groups out, and write counters as texts in JSON."""
    still = facts_of(RULES / "rank-host-stall" / "cases" / "positive-gloo-recorder" / "run")
    apart = facts_of(RULES / "mismatched-collective" / "cases" / "positive-gloo-recorder" / "run")

    assert (still["faulty_ranks"], still["host_still"]) == ("5", True)
    assert (apart["mismatch_ranks"], apart["mismatch"]) == ("2", "all_gather beside all_reduce")
    assert "faulty_ranks" not in apart


@pytest.mark.skipif(not PUBLIC.is_dir(), reason="public dumps are not at hand")
@pytest.mark.parametrize(
    ("case", "injected", "rule"),
    [("gpu_error_1st", "12 and 14", "device_stopped"), ("lock_gil_2nd", "10 and 15", "host_still")],
)
def test_injected_ranks_of_the_public_cases(case, injected, rule):
    facts = facts_of(next(PUBLIC.glob(f"**/{case}")))

    assert facts["ranks"] == 16
    assert facts["faulty_ranks"] == injected
    assert facts[rule] is True
