"""Lines of collectives, rendezvous and replicas: the forms of several versions and libraries, and their decoys."""

from __future__ import annotations

from typing import Any

import pytest
from log_reading import read_text

WATCHDOG = "WorkNCCL(SeqNum=641, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600017 milliseconds before timing out."

LINES: list[tuple[str, dict[str, Any], str]] = [
    ("nccl_timeout", {"seq": 641, "op": "ALLREDUCE", "numel": 8, "timeout_ms": 600_000, "ran_ms": 600_017, "rank": 1},
     f"[rank1]:[E606 18:37:01.832146912 ProcessGroupNCCL.cpp:607] [Rank 1] Watchdog caught collective operation timeout: {WATCHDOG}"),
    ("nccl_timeout", {"op": "ALLREDUCE", "rank": 3},
     "[E ProcessGroupNCCL.cpp:587] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1805000 milliseconds before timing out."),
    ("nccl_timeout", {"seq": 4, "shape": "[1]"},
     "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4, OpType=ALLREDUCE, TensorShape=[1], Timeout(ms)=1800000) ran for 1800100 milliseconds before timing out."),
    ("nccl_timeout", {"group": "3(TP)", "group_rank": 1},
     f"[PG ID 2 PG GUID 3(TP) Rank 1] Watchdog caught collective operation timeout: {WATCHDOG}"),
    ("nccl_timeout", {"op": "BROADCAST"}, "[Rank 1] Work WorkNCCL(SeqNum=2, OpType=BROADCAST, NumelIn=4, NumelOut=4, Timeout(ms)=600000) timed out in blocking wait."),
    ("collective_status", {"enqueued": 57, "completed": 56, "seq": 57},
     "[PG ID 1 PG GUID 1 Rank 1]  failure detected by watchdog at work sequence id: 57 PG status: last enqueued work: 57, last completed work: 56"),
    ("collective_status", {"enqueued": 8, "completed": 7}, "[Rank 1] Timeout at NCCL work: 8, last enqueued NCCL work: 8, last completed NCCL work: 7."),
    ("watchdog_stuck", {"stuck_s": 480}, "[PG 3 Rank 2] ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in monitoring enqueued collectives."),
    ("mismatched_collective", {"aspect": "Sequence number"},
     "RuntimeError: Detected mismatch between collectives on ranks. Rank 3 is running collective: X(SequenceNumber=7).Collectives differ in the following aspects: \t Sequence number: 7vs 0"),
    ("mismatched_collective", {}, "init.cc:1247 NCCL WARN Mismatched collective detected, please check your collective calls at and around rank 39."),
    ("rank_parameters_differ", {"rank": 3}, "RuntimeError: DDP expects same model across all ranks, but Rank 3 has 128 params, while rank 0 has inconsistent 0 params."),
    ("recorder_missing_ranks", {"missing": "1"}, "missing ranks: {1}"),
    ("desync_report", {"lagging": "0, 1", "seq": 8}, "[0, 1] finished collective #7, but didn't join collective #8 (count from 1)"),
    ("barrier_missing_rank", {"missing": "1"}, "RuntimeError: [Rank 0]: Rank 1 failed to pass monitoredBarrier in 30000 ms"),
    ("nccl_error", {"error": "ncclSystemError", "version": "2.10.3"},
     "RuntimeError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:957, unhandled system error, NCCL version 2.10.3"),
    ("nccl_error", {"error": "ncclRemoteError"}, "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely."),
    ("nccl_connect_failed", {"address": "10.0.0.2<54263>", "reason": "No route to host"},
     "node-a:795:822 [0] include/socket.h:409 NCCL WARN Net : Connect to 10.0.0.2<54263> failed : No route to host"),
    ("nccl_connect_failed", {"reason": "No route to host"},
     "node-a:2:2 [6] misc/socket.cc:533 NCCL WARN socketPollConnect: Connect to 10.0.0.4<56849> returned 113(No route to host) errno 115(Operation now in progress)"),
    ("nccl_error", {"error": "ncclSystemError"}, "acme.DeviceError: runtime error 2: unhandled system error in acme_allreduce"),
    ("nccl_connect_failed", {"local": "172.17.0.3"}, "node-a:2:2 [0] NCCL WARN socketStartConnect: Connect to 172.17.0.3<41234> failed : Software caused connection abort"),
    ("nccl_connect_failed", {"local": "127.0.1.1"}, "[node-b][[81,1],2][btl_tcp_endpoint.c:803:complete_connect] connect() to 127.0.1.1 failed: Connection refused (111)"),
    ("nccl_connect_failed", {"link": "there is no socket to node"}, "[08:00:01] src/zmq_van.h:131: there is no socket to node 12"),
    ("nccl_no_interface", {"empty": "!ip.empty() failed to get ip"}, "terminate called: what(): van.cc:63: Check failed: !ip.empty() failed to get ip"),
    ("nccl_timeout", {"op": "SCATTER", "ran_ms": 600_085},
     "e operation timeout: WorkNCCL(SeqNum=7, OpType=SCATTER, NumelIn=64, NumelOut=0, Timeout(ms)=600000) ran for 600085 milliseconds before timing out."),
    ("nccl_interface", {"interface": "bond0", "virtual": "br-05ab"}, "NCCL INFO NET/Socket : Using [0]bond0:10.0.0.1<0> [1]br-05ab:172.19.0.1<0>"),
    ("duplicate_gpu", {"first": 1, "second": 0}, "NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000"),
    ("infiniband_error", {"code": 12, "vendor": 129, "peer": "10.0.0.2"},
     "NCCL WARN NET/IB : Got completion from peer 10.0.0.2<44206> with status=12 opcode=129 len=65536 vendor err 129 (Recv)"),
    ("infiniband_error", {"adapter": "mlx5_0:1"}, "[node-a:1:0] ib_mlx5_log.c:171  UCX  ERROR Transport retry count exceeded on mlx5_0:1/RoCE (synd 0x15 vend 0x81)"),
    ("rendezvous_failure", {"address": "10.0.0.1", "port": 29500}, "[E socket.cpp:957] [c10d] The client socket has timed out after 900s while trying to connect to (10.0.0.1, 29500)."),
    ("rendezvous_failure", {"address": "10.0.0.1", "port": 1234}, "[E socket.cpp:860] [c10d] The client socket has timed out after 60s while trying to connect to 10.0.0.1:1234"),
    ("rendezvous_failure", {"joined": 1, "expected": 2}, "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined."),
    ("store_connect_failed", {"address": "node-a", "reason": "Connection refused"},
     "[W socket.cpp:697] [c10d] The client socket has failed to connect to [node-a]:29500 (errno: 111 - Connection refused)."),
    ("store_connect_failed", {"bogus": "0.104.99.143"},
     "[W socket.cpp:697] [c10d] The client socket has failed to connect to [0.104.99.143]:29500 (errno: 110 - Connection timed out)."),
    ("store_wait_timeout", {"timeout_ms": 600_000}, "RuntimeError: wait timeout after 600000ms, keys: /default_pg/0//cuda//0"),
    ("hostname_warning", {"hostname": "node-a"}, "[c10d] The IPv6 network addresses of (node-a, 29500) cannot be retrieved (gai error: -2 - Name or service not known)."),
    ("address_in_use", {"port": 29400}, "[W socket.cpp:436] [c10d] The server socket has failed to bind to [::]:29400 (errno: 98 - Address already in use)."),
    ("gloo_timeout", {"timeout_ms": 1_800_000, "op": "recv"}, "RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 1800000ms for recv operation to complete"),
    ("coordination_timeout", {"barrier": "sync_3::0"}, "DEADLINE_EXCEEDED: Barrier timed out. Id: sync_3::0. This usually happens because"),
    ("hccl_timeout", {"code": "EI0002", "remote_rank": 24}, "EI0002: [PID: 29] The wait execution of the Notify register times out. Reason: not received from remote rank: [24]."),
    ("mpi_abort", {"noticed": 3, "host": "node-a", "signal": 9}, "mpirun noticed that process rank 3 with PID 77 on node node-a exited on signal 9 (Killed)."),
    ("ddp_no_gradient", {"rank": 3, "parameters": "444 445"}, "Parameter indices which did not receive grad for rank 3: 444 445"),
    ("rank_graph_differs", {"rank": 7}, "RuntimeError: disagreement between rank0 and rank7: rank0: [1], rank7: [2]"),
    ("layout_mismatch", {"saved": 8, "current": 16}, "ZeRORuntimeException: The checkpoint being loaded used a DP world size of 8 but the current world size is 16."),
    ("layout_mismatch", {"what": "tensor_model_parallel_size", "saved": 1, "current": 2},
     "AssertionError: tensor_model_parallel_size value from checkpoint (1) is not equal to the input argument value (2)."),
    ("phase_started", {"phase": "saving"}, "saving checkpoint at iteration    1000 to /data/run/checkpoints"),
    ("phase_started", {"phase": "evaluation"}, "***** Running Evaluation *****"),
    ("store_connect_failed", {"bogus": "0.10.20.30"}, "[W socket.cpp:697] [c10d] The client socket has failed to connect to [::ffff:0.10.20.30]:29500 (errno: 110 - Connection timed out)."),
    ("rendezvous_failure", {"host_name": "660510", "bogus": "660510"}, "[E socket.cpp:753] [c10d] The client socket has failed to connect to any network address of (660510, 29500)."),
    ("rendezvous_failure", {"host_name": "node-a", "store_port": 29500}, "[E socket.cpp:753] [c10d] The client socket has failed to connect to any network address of (node-a, 29500)."),
    ("cuda_oom", {}, "node-a:1:1 [3] include/alloc.h:178 NCCL WARN Cuda failure 'out of memory'"),
    ("cuda_oom", {}, "node-a:1:1 [3] transport.cc:10 NCCL WARN Cuda failure 2 'out of memory'"),
    ("straggler_report", {"slow_ranks": "76, 13"}, "STRAGGLER DETECTION WARNING: Some GPUs have worse relative performance. Affected ranks: [76, 13]"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "fields", "line"), LINES)
def test_a_line_gives_its_kind_and_fields(kind: str, fields: dict[str, Any], line: str) -> None:
    events = [event for event in read_text(f"{line}\n").events if event.kind == kind]
    assert events
    assert fields.items() <= dict(events[0].fields).items()


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("nccl_connect_failed", "node-a:1:1 [0] NCCL INFO Call to connect returned Connection refused, retrying"),
        ("nccl_connect_failed", "worker 3 will connect() to 172.17.0.3 in a moment"),
        ("nccl_error", "ERROR: an unhandled system exception of the editor"),
        ("layout_mismatch", "hidden_size value from checkpoint (64) is not equal to the input argument value (128)."),
        ("hostname_unresolvable", "urllib3: Failed to establish a new connection: Name or service not known"),
        ("connection_lost", "[W socket.cpp:697] The client socket has failed to connect to [node-a]:29500 (errno: 111 - Connection refused)."),
        ("launch_blocking", "For debugging consider passing CUDA_LAUNCH_BLOCKING=1"),
        ("nccl_error", "node-a:1:1 [0] NCCL INFO comm 0x1 rank 0 nranks 2 - Init COMPLETE"),
        ("cuda_oom", "node-a:1:1 [3] include/alloc.h:178 NCCL WARN Cuda failure 'invalid argument'"),
        ("phase_started", "successfully saved model checkpoint to /data/run"),
    ],
)  # fmt: skip
def test_what_only_looks_like_it_is_something_else(kind: str, line: str) -> None:
    assert kind not in read_text(f"{line}\n").events.kinds()


def test_the_rank_of_a_subgroup_is_no_global_rank() -> None:
    inside = f"[PG ID 2 PG GUID 3(TP) Rank 1] Watchdog caught collective operation timeout: {WATCHDOG}\n"
    (event,) = read_text(inside).events.of("nccl_timeout")
    assert event.rank is None
    (event,) = read_text(f"[rank5]:[E1003 18:37:01.8 File.cpp:607] {inside}").events.of("nccl_timeout")
    assert event.rank == 5


def test_a_number_that_a_terminal_broke_is_not_read() -> None:
    cut = (
        WATCHDOG.partition("NumelOut=")[0]
        + "NumelOut=5\n164000, Timeout(ms)=1000) ran for 1001 milliseconds\n"
    )
    (event,) = read_text(f"[Rank 1] Watchdog caught collective operation timeout: {cut}").events.of(
        "nccl_timeout"
    )
    assert "numel_out" not in event.fields
    assert "numel" in event.fields


def test_a_bogus_host_is_only_one_of_digits() -> None:
    line = "[E socket.cpp:753] [c10d] The client socket has failed to connect to any network address of (node-7, 29500).\n"
    (event,) = read_text(line).events.of("rendezvous_failure")
    assert "bogus" not in event.fields


@pytest.mark.parametrize(
    ("code", "error"), [("5", "ncclInvalidUsage"), ("6", "ncclRemoteError"), ("7", None), ("4", None)]
)
def test_a_function_of_nccl_hands_on_a_number_which_some_errors_have(code: str, error: str | None) -> None:
    found = read_text(f"node-a:16:17 [0] NCCL INFO init.cc:1815 -> {code}\n").events.of("nccl_error")
    assert [event.fields["error"] for event in found] == ([error] if error else [])
