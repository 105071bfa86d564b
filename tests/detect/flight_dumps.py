"""Dumps of the flight recorder in the documented form, for jobs made up of groups, calls and a fault."""

from __future__ import annotations

import json
import pickle


class Job:
    """Ranks that issue collectives; ``dump`` is what their recorders would write at the timeout."""

    def __init__(self, ranks):
        self.ranks = range(ranks)
        self.groups = {}
        self.calls = {rank: [] for rank in self.ranks}
        self.add_group("0", "default_pg", self.ranks)

    def add_group(self, name, description, members):
        self.groups[name] = (description, list(members))

    def call(
        self, group, op="all_reduce", *, ranks=None, elements=1024, dtype="Float", finished=True, **more
    ):
        """One collective of a group on the given members, by default all of them."""
        for rank in self.groups[group][1] if ranks is None else ranks:
            self.calls[rank].append(
                {"group": group, "op": op, "elements": elements, "dtype": dtype, "finished": finished, **more}
            )

    def dump(self, rank, keep_finished=False):
        own = [name for name, (_, members) in self.groups.items() if rank in members]
        numbers = {name: number for number, name in enumerate(own)}
        counters = {name: [0, 0] for name in own}
        entries = []
        for call in self.calls[rank]:
            name = call["group"]
            counters[name][0] += 1
            counters[name][1] += call["finished"]
            if call["finished"] and not keep_finished:
                continue
            is_p2p = call["op"].startswith(("send", "recv"))
            entries.append(
                {
                    "record_id": len(entries), "pg_id": numbers[name], "process_group": [name, self.groups[name][0]],
                    "collective_seq_id": 0 if is_p2p else counters[name][0], "p2p_seq_id": counters[name][0] if is_p2p else 0,
                    "op_id": counters[name][0], "profiling_name": f"nccl:{call['op']}", "time_created_ns": 1758610505947721376,
                    "input_sizes": [[call["elements"]]], "input_dtypes": [call["dtype"]], "output_sizes": [[call["elements"]]],
                    "output_dtypes": [call["dtype"]], "state": "scheduled", "time_discovered_started_ns": None,
                    "time_discovered_completed_ns": None, "retired": False, "timeout_ms": 600000, "is_p2p": is_p2p,
                    "frames": [{"name": "forward", "filename": "/job/model.py", "line": 12}],
                }
            )  # fmt: skip
        return {
            "version": "2.9",
            "pg_config": {n: {"name": n, "desc": self.groups[n][0], "ranks": str(self.groups[n][1])} for n in own},
            "nccl_version": "2.26.2",
            "pg_status": {
                str(numbers[n]): {"last_enqueued_collective": a, "last_started_collective": -1, "last_completed_collective": b}
                for n, (a, b) in counters.items()
            },
            "entries": entries,
        }  # fmt: skip

    def write(self, directory, *, as_json=False, without=(), keep_finished=False):
        for rank in self.ranks:
            if rank in without:
                continue
            dump = self.dump(rank, keep_finished)
            if as_json:
                (directory / f"rank_{rank}.json").write_text(json.dumps(dump))
            else:
                (directory / f"nccl_trace_rank_{rank}").write_bytes(pickle.dumps(dump, protocol=2))
        return directory


def tensor_parallel(ranks=16):
    """Groups of four for tensors and two for data, on top of the group of all; forty steps went well."""
    job = Job(ranks)
    for first in range(0, ranks, 4):
        job.add_group(f"tp{first}", "TENSOR_GROUP", range(first, first + 4))
    for first in range(4):
        job.add_group(f"dp{first}", "DATA_GROUP", range(first, ranks, 4))
    for _ in range(40):
        for name in job.groups:
            job.call(name)
    return job
