"""Failure lines of accelerators and fabrics other than one CUDA device, and of the runtimes around them."""

from __future__ import annotations

import pytest
from log_reading import only, read_text

from analyzer.ingest.text.events.patterns import all_patterns, match_pattern


def kinds_of(line: str) -> set[str]:
    """Kinds of all rows that match a line, found through their literals as in the scan."""
    return {
        pattern.kind
        for pattern in all_patterns()
        if any(literal in line for literal in pattern.literals) and match_pattern(pattern, line) is not None
    }


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("cuda_oom", "RuntimeError: MPS backend out of memory (MPS allocated: 9.00 GB, other allocations: 1.00 GB, max allowed: 9.50 GB)."),
        ("cuda_oom", "RuntimeError: Native API failed. Native API returns: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)"),
        ("cuda_oom", "RuntimeError: level_zero backend failed with error: 40 (UR_RESULT_ERROR_OUT_OF_RESOURCES)"),
        ("cuda_oom", "torch.AcceleratorError: HIP error: out of memory"),
        ("device_lost", "RuntimeError: level_zero backend failed with error: 20 (UR_RESULT_ERROR_DEVICE_LOST)"),
        ("device_lost", "E0511 18:18:50.8 915 client.cc:311] Detected failure SLICE_FAILURE_CHIP_DRIVER_ERROR in session e6; Start failure handling"),
        ("npu_core_fault", "[Error]: The aicore execution is abnormal."),
        ("npu_core_fault", "        rtDeviceSynchronizeWithTimeout execute failed, reason=[vector core exception][FUNC:Reason][FILE:a.cc][LINE:5]"),
        ("npu_core_fault", "RuntimeError: npuSynchronizeDevice:a.cpp:62 NPU function error: AclrtSynchronizeDeviceWithTimeout, error code is 507035"),
        ("hccl_timeout", "RuntimeError: npuSynchronizeDevice:a.ts:47 NPU function error: AclrtSynchronizeDeviceWithTimeout, error code is 507048"),
        ("hccl_timeout", "        rtDeviceSynchronize execute failed, reason=[task timeout][FUNC:Reason][FILE:a.cc][LINE:53]"),
        ("hccl_error", "RuntimeError: InnerRunOpApi:a.cpp:28 OPS function error: HcclAllreduce, error code is 6"),
        ("illegal_memory_access", "Memory access fault by GPU node-4 (Agent handle: 0x5a00) on address 0x7f00000. Reason: Page not present."),
        ("no_kernel_image", '"hipErrorNoBinaryForGpu: Unable to find code object for all current devices!"'),
        ("cuda_error", "RuntimeError: HIP error: unspecified launch failure"),
        ("cuda_error", "CUDA error: an illegal instruction was encountered"),
        ("gpu_hang", "[   90.4] amdgpu 0000:2b:00.0: amdgpu: GPU reset begin!"),
        ("gpu_hang", "[   90.5] amdgpu: MES might be in unrecoverable state, issue a GPU reset"),
        ("xid_gsp", "[   84.3] NVRM: GPU6 _kgspLogRpcTimeout: ********************** GSP Timeout **********************"),
        ("xid_gsp", "NVRM: nvAssertFailedNoLog: Assertion failed: Back to back GSP RPC timeout detected! GPU marked for reset @ kernel_gsp.c:2387"),
        ("fabric_not_ready", "RuntimeError: cuda runtime error (802) : system not yet initialized at /src/aten/THCGeneral.cpp:50"),
        ("fabric_not_ready", "node-a:12:14 [2] transport/nvls.cc:244 NCCL WARN Cuda failure 1 'invalid argument'"),
        ("fabric_not_ready", "This is usually caused by a system or configuration error in the Fabric Manager or NVSwitches."),
        ("infiniband_error", "node-a:46:46 [0] NCCL WARN NET/OFI Request completed with error. RC: 21. Error: unknown error"),
        ("infiniband_error", "node-a:72:73 [7] create_component:459 NCCL WARN NET/OFI Couldn't open AV. RC: -22, ERROR: Invalid argument"),
        ("infiniband_error", "libfabric:45:1700000000::efa:cq:efa_rdm_txe_handle_error():737<warn> err: 5, message: Invalid address My EFA addr: x"),
        ("infiniband_error", "Unable to write to EQ: Missing or unavailable event queue. err: Input/output error (5) prov_errno: Unknown error -11 (-11) prov/efa/a.h:13"),
        ("nccl_error", "E external/xla/xla/service/gpu/nccl_utils.cc:211] Aborting communicator: 0x7f due to async NCCL error: remote process exited or there was a network error"),
        ("nccl_error", "INTERNAL: external/xla/nccl_utils.cc:275: NCCL operation ncclCommInitRank(&comm, nranks, id, rank) failed: unhandled cuda error"),
        ("shm_too_small", "[0] misc/shmutils.cc:88 NCCL WARN Error: failed to extend /dev/shm/nccl-AbCdEf to 9637892 bytes, error: No space left on device (28)"),
        ("shm_too_small", "OSError: [Errno 28] No space left on device: '/dev/shm/queue_3'"),
        ("library_mismatch", "[bitsandbytes.cextension|ERROR]bitsandbytes library load error: Configured CUDA binary not found at /opt/lib/libbitsandbytes_cuda131.so"),
        ("library_mismatch", "RuntimeError: use_libuv was requested but PyTorch was build without libuv support"),
        ("xla_compile_failed", "RuntimeError: Graph compile failed. synStatus=synStatus 26 [Generic failure]."),
        ("object_store_error", "All 10 retry attempts failed. The last failure: Unavailable: Error executing an HTTP request: HTTP response code 503"),
        ("job_memory_limit", "Memory on the node (IP: 10.0.0.1, ID: ab12) where the task (task ID: cd34, name=train, pid=45, memory used=9.00GB) was running was"),
        ("slurm_cancelled", "slurmstepd: error: *** JOB 7 CANCELLED DUE TO TIME LIMIT ***"),
        ("sigterm", "W0227 17:39:41.9 29 torch/distributed/elastic/multiprocessing/api.py:766] Closing process 30 via signal SIGTERM"),
        ("cpu_oom", 'OSError: [WinError 1455] Die Auslagerungsdatei ist zu klein. Error loading "C:\\lib\\shm.dll" or one of its dependencies.'),
        ("state_dict_rejected", "RuntimeError: Error(s) in loading state_dict for"),
        ("native_check_failed", "2022-08-19 19:12:17.8: F tensorflow/core/tpu/program_group.cc:86] Check failed: programs.size() > 0 (0 vs. 0)"),
        ("native_check_failed", "python: /src/handle.cpp:223: int pread(const char*, bool): Assertion `nbytes == file_bytes' failed."),
        ("label_out_of_range", "RuntimeError: Assertion `cur_target >= 0 && cur_target < n_classes' failed.  at /src/generic/Loss.c:97"),
        ("native_check_failed", "F0819 10:00:00.100000  4321 net.cpp:86] Check failed: top.size() == 1 (2 vs. 1)"),
    ],
)  # fmt: skip
def test_the_line_is_known(kind: str, line: str) -> None:
    assert kind in kinds_of(line)


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("disk_full", "OSError: [Errno 28] No space left on device: '/dev/shm/queue_3'"),
        ("shm_too_small", "OSError: [Errno 28] No space left on device: '/data/run/checkpoint-50'"),
        ("segfault", "Worker exit detail: Some common causes include: (1) the process was killed, or (3) the worker crashed unexpectedly due to SIGSEGV"),
        ("state_dict_rejected", "    raise RuntimeError('Error(s) in loading state_dict for {}:'.format("),
        ("file_system_error", "err: Input/output error (5) prov_errno: Unknown error -12 (-12) prov/efa/a.h:13"),
        ("fabric_not_ready", "node-a:12:14 [2] transport/nvls.cc:244 NCCL WARN Cuda failure 2 'out of memory'"),
        ("fabric_not_ready", "node-a:12:14 [2] NCCL INFO transport/nvls.cc:394 -> 1"),
        ("infiniband_error", "node-a:12:14 [0] NCCL WARN NET/OFI Only EFA provider is supported"),
        ("infiniband_error", "node-a:12:14 [0] NCCL WARN NET/OFI aws-ofi-nccl initialization failed"),
        ("nccl_timeout", "[Rank 0] Received a dump signal due to a collective timeout from  rank 13 and we will try our best to dump the debug info."),
        ("native_check_failed", "a.cu:105: kernel: block: [0,0,0], thread: [1,0,0] Assertion `t >= 0 && t < n` failed."),
        ("native_check_failed", "RuntimeError: Assertion `target >= 0 && target < n' failed.  at /src/generic/Loss.c:97"),
        ("native_check_failed", "INFO: test_shapes.py:86] Check failed: expected, retried"),
        ("record_undecodable", "train: /data/a.jpg: ignoring corrupt image/label: non-normalized or out of bounds coordinates [1.5]"),
        ("cuda_oom", "OP_REQUIRES failed at mkl_util.h:846 : RESOURCE_EXHAUSTED: OOM when allocating tensor with shape[9,9] and"),
        ("object_store_error", "attempt 3: Error executing an HTTP request: HTTP response code 503, retrying"),
    ],
)  # fmt: skip
def test_the_line_is_something_else(kind: str, line: str) -> None:
    assert kind not in kinds_of(line)


def test_apple_names_what_it_holds_and_what_it_may_hold() -> None:
    run = read_text(
        "RuntimeError: MPS backend out of memory (MPS allocated: 12.00 GB, other allocations: 2.00 GB, max allowed: 18.00 GB). "
        "Tried to allocate 512.00 MB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit\n"
    )
    fields = only(run, "cuda_oom")
    assert (fields["allocated_gib"], fields["total_gib"], fields["tried_gib"]) == (12.0, 18.0, 0.5)


@pytest.mark.parametrize(
    "at",
    [" opera", " operation ti", " operation timeout: Work", " operation timeout: WorkNCCL(SeqNum=33, OpT"],
)
def test_a_watchdog_line_that_is_broken_in_its_first_words_still_tells_of_the_timeout(at: str) -> None:
    work = (
        " operation timeout: WorkNCCL(SeqNum=33, OpType=ALLTOALL, NumelIn=6, NumelOut=6, Timeout(ms)=600000)"
    )
    run = read_text(
        "[rank0]:[E305 16:45:41.0 ProcessGroupNCCL.cpp:1515] [PG 1 Rank 0] Process group watchdog thread terminated with exception: "
        f"[Rank 0] Watchdog caught collective{at}\n"
        f"{work.removeprefix(at)} ran for 600000 milliseconds before timing out.\n"
    )
    assert run.events.of("nccl_timeout")[0].rank == 0


def test_the_ranks_that_are_told_of_a_timeout_did_not_time_out_themselves() -> None:
    told = "we will try our best to dump the debug info. Last enqueued NCCL work: 77, last completed NCCL work: 77."
    run = read_text(
        f"[rank1]:[E810 03:04:11.0 ProcessGroupNCCL.cpp:1858] [PG ID 0 PG GUID 0(default_pg) Rank 1] Received a dump signal due to a collective timeout from this local rank and {told}\n"
        f"[rank0]:[E810 03:04:11.5 ProcessGroupNCCL.cpp:1858] [PG ID 0 PG GUID 0(default_pg) Rank 0] Received a dump signal due to a collective timeout from  rank 1 and {told}\n"
    )
    assert [event.rank for event in run.events.of("nccl_timeout")] == [1]
    assert [(event.rank, event.fields["peer"]) for event in run.events.of("peer_timed_out")] == [(0, 1)]


def test_an_exception_of_the_collective_library_of_ascend_tells_of_lost_peers() -> None:
    run = read_text(
        "Traceback (most recent call last):\n"
        '  File "/data/run/train.py", line 9, in step\n'
        "    dist.all_reduce(x)\n"
        "RuntimeError: InnerRunOpApi:a.cpp:28 OPS function error: HcclAllreduce, error code is 6\n"
    )
    assert run.events.of("python_traceback")[0].role == "symptom"


@pytest.mark.parametrize(
    ("place", "of_samples"),
    [
        ("data_transformer.cpp", True),
        ("image_data_layer.cpp", True),
        ("data_layout_copy.cc", False),
        ("data_kind.h", False),
    ],
)
def test_a_check_of_samples_is_known_by_the_file_that_reads_them(place, of_samples):
    line = f"F0819 10:00:00.100000  4321 {place}:86] Check failed: rows == wanted (2 vs. 1)\n"
    events = [event for event in read_text(line).events if event.kind == "native_check_failed"]
    assert ["input" in event.fields for event in events] == [of_samples]
