"""Who wrote a file, by its path: certain or undecided, never a guess."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.ingest.rank_names import place_of, ranks_of


@pytest.mark.parametrize(
    ("path", "rank"),
    [
        ("rank_3.log", 3),
        ("rank3.out", 3),
        ("log.rank7", 7),
        ("std_rank_0.log", 0),
        ("logs/1/rank.03/stdout", 3),
        ("RANK-4.LOG", 4),
        ("train_node0_rank12.log.gz", 12),
        ("nemo_log_globalrank-5_localrank-1.txt", 5),
        ("lora-rank8/train.log", None),
        ("low_rank_4.log", None),
        ("tp_rank_1.log", None),
        ("mp_rank_00_model_states.txt", None),
        ("local_rank_2.log", None),
        ("node_rank_1.log", None),
        ("ranking3.log", None),
        ("rank_20260519.log", None),
        ("slurm-123456_7.out", None),
        ("worker-01000000-ffffffff-1234.out", None),
        ("train.log", None),
    ],
)
def test_global_rank_of_one_path(path, rank):
    assert place_of(path).rank == rank


def test_what_else_a_path_says():
    assert place_of("x/none_ab/attempt_2/3/stderr.log").attempt == 2
    assert place_of("x/none_ab/attempt_2/3/stderr.log").local_rank == 3
    assert (place_of("node-a/run.log").host, place_of("nodes/run.log").host) == ("node-a", "")
    assert (place_of("node_1/rank_9.log").node, place_of("worker-2.log").task) == (1, 2)
    assert place_of("run_2/log.txt").attempt == 2


def test_tasks_are_ranks_only_as_a_family_without_gaps():
    assert ranks_of(["job.4711.0.out", "job.4711.1.out", "job.4711.2.out"])["job.4711.2.out"] == 2
    assert ranks_of(["job.4711.0.out", "job.4711.2.out"]) == {}
    assert ranks_of(["worker-0.log", "worker-1.log"]) == {"worker-0.log": 0, "worker-1.log": 1}
    assert ranks_of(["worker-1.log"]) == {}


def test_the_same_rank_on_several_nodes_is_a_local_one():
    assert ranks_of(["node0/rank_0.log", "node1/rank_0.log"]) == {}
    assert ranks_of(["node0/rank_0.log", "node1/rank_1.log"]) == {
        "node0/rank_0.log": 0,
        "node1/rank_1.log": 1,
    }


def test_local_ranks_of_torchrun_are_global_for_one_launch_only():
    one = [f"l/none_x/attempt_0/{rank}/stderr.log" for rank in range(2)]
    other = [path.replace("none_x", "none_y") for path in one]

    assert list(ranks_of(one).values()) == [0, 1]
    assert ranks_of(one + other) == {}


@given(st.text(alphabet="rank_-/.node0123456789tskworje=", max_size=80))
def test_any_path_is_survived(path):
    place = place_of(path)
    assert ranks_of([path]).get(path) in {place.rank, place.local_rank, None}
