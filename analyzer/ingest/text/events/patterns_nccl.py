r"""Lines of NCCL, of its watchdog in torch, and of the fabric below it.

A watchdog speaks after its timeout, on the ranks that waited::

    [rank1]:[E1003 18:37:01.8 ProcessGroupNCCL.cpp:607] [Rank 1] Watchdog caught collective operation timeout:
    WorkNCCL(SeqNum=64, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600017 milliseconds …
"""

from __future__ import annotations

from analyzer.ingest.text.events.patterns import Pattern

# "[PG ID 0 PG GUID 0(default_pg) Rank 1]", "[PG 0 (default_pg) Rank 1]", "[PG 0 Rank 1]", "[Rank 1]": the number
# behind "Rank" counts within the group, so it is the global rank only in the group of all ranks.
_PREFIX = (
    r"\[(?:PG (?:ID \d{1,6} PG GUID )?0 ?(?:\((?:default_pg|WORLD)\))? )?Rank (?P<rank>\d{1,6})\]",
    r"\[PG (?:ID \d{1,6} PG GUID )?(?P<group>\d{1,9} ?(?:\([\w.-]{1,60}\))?) ?Rank (?P<group_rank>\d{1,6})\]",
)

_WATCHDOG: tuple[Pattern, ...] = (
    Pattern(
        "nccl_timeout",
        "symptom",
        ("aught collective oper", "timed out in blocking wait"),
        # A terminal may have broken the line inside these words.
        r"aught collective oper[a-z]{0,5}(?: [a-z]{0,7}:?)?\s*$|(?:aught collective operation timeout: |Work )Work(?:\w{0,8}\((?:SeqNum=(?P<seq>\d{1,18}), )?(?:OpType=(?P<op>\w{1,40})|\w{0,7}\s*$)|\w{0,8}\s*$)",
        {"seq": "int", "timeout_ms": "int", "ran_ms": "int", "rank": "int", "numel": "int", "numel_out": "int", "group_rank": "int"},
        more=(
            # A terminal may have broken the line inside the number.
            r"NumelIn=(?P<numel>\d{1,15})(?=[,)])",
            r"NumelOut=(?P<numel_out>\d{1,15})(?=[,)])",
            r"TensorShape=(?P<shape>\[[\d, ]{0,80}\])",
            r"Timeout\(ms\)=(?P<timeout_ms>\d{1,15})",
            r"ran for (?P<ran_ms>\d{1,15}) milliseconds",
            *_PREFIX,
        ),
    ),
    # The rank that timed out first asks all for a dump of their flight recorders; it says less than the line above.
    Pattern(
        "nccl_timeout",
        "symptom",
        ("due to a collective timeout from this local rank",),
        r"due to a collective timeout from this local rank",
        {"rank": "int", "group_rank": "int"},
        more=_PREFIX,
    ),
    # What the others write then
    Pattern(
        "peer_timed_out",
        "symptom",
        ("due to a collective timeout from  rank ", "due to a collective timeout from rank "),
        r"due to a collective timeout from {1,2}rank (?P<peer>\d{1,6})\b",
        {"peer": "int", "group_rank": "int", "rank": "int"},
        more=_PREFIX,
    ),
    # Where a rank stands when one of them timed out; also the ranks that waited for nothing print it.
    Pattern(
        "collective_status",
        "info",
        ("ast enqueued NCCL work: ", "ast enqueued work: "),
        r"[Ll]ast enqueued (?:NCCL )?work: (?P<enqueued>-?\d{1,18}), last completed (?:NCCL )?work: (?P<completed>-?\d{1,18})",
        {"enqueued": "int", "completed": "int", "rank": "int", "group_rank": "int", "seq": "int"},
        more=(r"(?:work sequence id: |NCCL work: |at work: )(?P<seq>\d{1,18})", *_PREFIX),
    ),
    # The thread that watches is itself blocked: an API call of CUDA or NCCL that hangs, or the interpreter's lock.
    Pattern(
        "watchdog_stuck",
        "symptom",
        ("watchdog got stuck for", "Heartbeat monitor timed out!"),
        r"watchdog got stuck for (?P<stuck_s>\d{1,9}) ?s|Heartbeat monitor timed out!",
        {"stuck_s": "int", "rank": "int", "group_rank": "int"},
        more=_PREFIX,
    ),
    Pattern(
        "communicator_abort",
        "cascade",
        ("To avoid data inconsistency, we are taking the entire process down", "watchdog thread terminated with exception",
         "Some NCCL operations have failed or timed out"),
        r"we are taking the entire process down|watchdog thread terminated with exception|Some NCCL operations have failed or timed out",
    ),
)  # fmt: skip

_COMPARED: tuple[Pattern, ...] = (
    # torch with TORCH_DISTRIBUTED_DEBUG=DETAIL
    Pattern(
        "mismatched_collective",
        "root_candidate",
        ("Detected mismatch between collectives on ranks",),
        r"Detected mismatch between collectives on ranks",
        {"rank": "int", "seq": "int"},
        more=(
            r"Rank (?P<rank>\d{1,6}) is running collective",
            r"SequenceNumber=(?P<seq>\d{1,18})",
            r"Collectives differ in the following aspects:\s{1,8}(?P<aspect>[\w ]{1,60})",
        ),
    ),
    # The flight recorder's analyser, Horovod, and torch when it compares the parameters of the replicas
    Pattern(
        "mismatched_collective",
        "root_candidate",
        ("COLLECTIVE_TYPE_MISMATCH", "SIZE_OR_SYNTAX_MISMATCH", "COLLECTIVE_DTYPE_MISMATCH", "ismatched ALLREDUCE", "ismatched allreduce",
         "ismatched ALLGATHER", "ismatched allgather", "ismatched MPI operations", "ismatched collective operations", "ismatched data types: One rank", "Mismatched collective detected"),
        r"Mismatched collective detected|(?P<aspect>COLLECTIVE_TYPE_MISMATCH|SIZE_OR_SYNTAX_MISMATCH|COLLECTIVE_DTYPE_MISMATCH)"
        r"|[Mm]ismatched (?P<horovod>(?i:allreduce|allgather) [\w ]{1,40}|MPI operations|collective operations|data types): One rank",
    ),
    # gloo gets more bytes from a peer than the call of this rank expects: "op.preamble.length <= op.nbytes. 32 vs 30.
    # Received data size doesn't match expected size. Is there a distributed collective mismatch in your code?"
    Pattern(
        "mismatched_collective",
        "root_candidate",
        ("op.preamble.length <= op.nbytes", "Is there a distributed collective mismatch in your code"),
        r"op\.preamble\.length <= op\.nbytes|Is there a distributed collective mismatch in your code",
    ),
    Pattern(
        "rank_parameters_differ",
        "root_candidate",
        ("DDP expects same model across all ranks", "appears not to match sizes of the same param in process",
         "appears not to match strides of the same param in process"),
        r"DDP expects same model across all ranks, but Rank (?P<rank>\d{1,6})|^.{0,80}\[(?P<other>\d{1,6})\]: params\[\d{1,6}\] in this process .{1,200} appears not to match",
        {"rank": "int", "other": "int"},
    ),
    # The flight recorder's analyser: "Not all ranks joining collective 5 at entry 4", then "missing ranks: {1}"
    Pattern(
        "recorder_missing_ranks",
        "symptom",
        ("Not all ranks joining collective",),
        r"Not all ranks joining collective(?:,? sequence number:)? ?(?P<seq>\d{1,18})?",
        {"seq": "int"},
        more=(r"(?i:missing ranks)(?: are|:) \{(?P<missing>[\d, ]{1,200})\}",),
    ),
    Pattern(
        "recorder_missing_ranks",
        "symptom",
        ("issing ranks: {", "issing ranks are {", "missing_ranks: {"),
        r"[Mm]issing[ _]ranks(?: are|:) \{(?P<missing>[\d, ]{1,200})\}",
    ),
    # torch with TORCH_NCCL_DESYNC_DEBUG=1
    Pattern(
        "desync_report",
        "symptom",
        ("joined but didn't finish collective #", "but didn't join collective #", "are the lagging ranks that caused"),
        r"\[(?P<lagging>[\d, ]{1,200})\] finished collective #\d{1,18}, but didn't join collective #(?P<seq>\d{1,18})"
        r"|ranks \[(?P<never>[\d, ]{1,200})\] are the lagging ranks|\[(?P<joined>[\d, ]{1,200})\] joined but didn't finish collective #(?P<at>\d{1,18})",
        {"seq": "int", "at": "int"},
    ),
    # What the first rank of a monitored barrier says of those that did not come
    Pattern(
        "barrier_missing_rank",
        "symptom",
        ("failed to pass monitoredBarrier",),
        r"Ranks? (?P<missing>[\d, ]{1,200}) failed to pass monitoredBarrier in (?P<timeout_ms>\d{1,15}) ms",
        {"timeout_ms": "int"},
    ),
    # One operation that not every rank asked for: Horovod's stall inspector
    Pattern(
        "horovod_stall",
        "symptom",
        ("One or more tensors were submitted to be reduced", "[missing ranks: "),
        r"One or more tensors were submitted to be reduced|\[missing ranks: (?P<missing>[\d, ]{1,200})\]",
    ),
)  # fmt: skip

_CODES = {
    "unhandled system error": "ncclSystemError",
    "unhandled cuda error": "ncclUnhandledCudaError",
    "internal error": "ncclInternalError",
    "invalid usage": "ncclInvalidUsage",
    "remote process exited or there was a network error": "ncclRemoteError",
    **{name: name for name in ("ncclInternalError", "ncclSystemError", "ncclUnhandledCudaError", "ncclRemoteError", "ncclInvalidUsage")},
}  # fmt: skip

_ERRORS: tuple[Pattern, ...] = (
    Pattern(
        "nccl_error",
        "symptom",
        ("ncclInternalError", "ncclSystemError", "ncclUnhandledCudaError", "ncclRemoteError", "ncclInvalidUsage", "NCCL error in: ",
         "NCCL operation ", "async NCCL error: ", "NCCL communicator was aborted", "NCCL Error 1: ", "NCCL Error 2: ", "NCCL Error 3: ", "NCCL Error 5: ", "NCCL Error 6: "),
        r"(?:NCCL error in: .{1,300}?, |NCCL Error \d: |async NCCL error: |NCCL operation .{1,250}? failed: |(?=nccl[A-Z]))(?P<error>nccl(?:InternalError|SystemError|UnhandledCudaError|RemoteError|InvalidUsage)"
        r"|unhandled system error|unhandled cuda error|internal error|invalid usage|remote process exited or there was a network error)"
        r"|NCCL error in: |NCCL communicator was aborted on rank (?P<rank>\d{1,6})",
        {"rank": "int"},
        more=(r"NCCL version (?P<version>\d{1,3}\.\d{1,3}\.\d{1,3})",),
        words={"error": _CODES},
    ),
    # Not a failure: winning benchmark runs carry dozens
    Pattern("nccl_warn", "info", ("NCCL WARN ",), r"NCCL WARN (?P<message>.{1,200})"),
    # The forms of several versions: with and without the address, retried or given up
    Pattern(
        "nccl_connect_failed",
        "symptom",
        ("Connect to ", "connect to ", "Call to connect ", "connect returned ", "Net : Connect "),
        r"(?:[Cc]onnect(?: to (?P<address>[\w.:%\[\]-]{2,80}<\d{1,5}>))?|Call to connect(?: to (?P<peer>[\w.:%\[\]-]{2,80}<\d{1,5}>))?)"
        r" (?:returned|failed ?:) (?:\d{1,4}\()?(?P<reason>No route to host|Network is unreachable|Connection timed out|Connection refused|Cannot assign requested address)",
        unless=r"[Rr]etrying|store|TCPStore|https?://",
    ),
    Pattern(
        "nccl_no_interface",
        "root_candidate",
        ("no socket interface found", "No interface found in the same subnet"),
        r"[Nn]o socket interface found|No interface found in the same subnet",
    ),
    Pattern("nccl_interface", "info", ("NET/Socket : Using ", "Bootstrap : Using "),
            r"(?P<what>NET/Socket|Bootstrap) : Using (?:\[0\])?(?P<interface>[\w.@-]{1,32}):(?P<address>[\w.:%]{2,60})<",
            more=(r"(?:Using |\])(?P<virtual>(?:lo|docker|virbr|veth|br-|podman|cni|flannel|tun|tap|vmnet)[\w.@-]{0,30}):",), once=True),
    Pattern("nccl_transport", "info", ("NCCL INFO Using network ", "NET/IB : No device found", "NET/IB : Using "),
            r"NCCL INFO Using network (?P<transport>\w{1,40})|NET/IB : (?P<ib>No device found|Using)", once=True),
    Pattern("nccl_version", "info", ("NCCL version ",), r"(?:^|\s)NCCL version (?P<version>\d{1,3}\.\d{1,3}\.\d{1,3})\b", unless=r"NCCL error in", once=True),
    # Printed settings, never the advice of torch to set it
    Pattern("launch_blocking", "info", ("CUDA_LAUNCH_BLOCKING=1", "CUDA_LAUNCH_BLOCKING: 1", "'CUDA_LAUNCH_BLOCKING': '1'"),
            r"CUDA_LAUNCH_BLOCKING(?:=|: |': ')1\b", unless=r"[Cc]onsider|[Ff]or debugging|[Tt]ry |pass", once=True),
    Pattern("nccl_version_mismatch", "root_candidate", ("ismatched NCCL version", "Mismatched NCCL"),
            r"[Mm]ismatched NCCL versions? detected"),
    Pattern(
        "duplicate_gpu",
        "root_candidate",
        ("Duplicate GPU detected",),
        r"Duplicate GPU detected ?: rank (?P<first>\d{1,6}) and rank (?P<second>\d{1,6})",
        {"first": "int", "second": "int"},
    ),
    Pattern(
        "p2p_unavailable",
        "info",
        ("P2P is disabled between connected GPUs", "Could not enable P2P between dev", "peer access is not supported between these two devices"),
        r"P2P is disabled between connected GPUs|Could not enable P2P between dev|peer access is not supported between these two devices",
        once=True,
    ),
    # The input-output memory management unit refuses a transfer between devices
    Pattern(
        "iommu_fault",
        "symptom",
        ("IO_PAGE_FAULT", "DMAR: [DMA ", "handling fault status reg", "arm-smmu-v3 "),
        r"IO_PAGE_FAULT|DMAR: \[DMA (?:Read|Write)|DMAR: DRHD: handling fault status reg|arm-smmu-v3 \S{1,60}: event 0x10",
    ),
)  # fmt: skip

_FABRIC: tuple[Pattern, ...] = (
    # as in "NET/IB : Got completion from peer 10.0.0.1<40001> with status=12 opcode=0 len=0 vendor err 129 (Recv)"
    Pattern(
        "infiniband_error",
        "symptom",
        ("IBV_WC_", "ibv_poll_cq", "Got completion from peer", "Got completion with ", "Call to ibv_modify_qp failed", "Transport retry count exceeded"),
        r"(?P<status>IBV_WC_[A-Z_]{2,40}_ERR)|ibv_poll_cq.{0,40}error|Got completion (?:from peer|with) .{0,120}(?:error|status)"
        r"|Call to (?P<call>ibv_modify_qp) failed|(?P<ucx>Transport retry count exceeded) on (?P<adapter>[\w:]{1,40})",
        {"code": "int", "vendor": "int"},
        more=(
            r"(?:with status=|with error |_ERR\()(?P<code>\d{1,3})",
            r"vendor err (?P<vendor>\d{1,6})",
            r"from peer (?P<peer>[\w.:%-]{2,60})<",
            r"localGid .{1,80}hca (?P<adapter>\w{1,40})",
        ),
    ),
)  # fmt: skip

_OFI: tuple[Pattern, ...] = (
    # libfabric, which carries NCCL on EFA and Slingshot: of the plug-in, and of the provider below it
    Pattern(
        "infiniband_error",
        "symptom",
        ("NCCL WARN NET/OFI ", "_handle_error():", " prov_errno: "),
        r"NCCL WARN NET/OFI (?:.{0,60}(?P<request>completed with error)|(?P<setup>Couldn't open|Unable to register memory|.{0,20}endpoint .{0,60}failed))"
        r"|libfabric:.{1,60}_handle_error\(\):\d{1,6}<warn> err: \d{1,6}|Unable to write to EQ: .{0,60}err: .{1,60} prov_errno: ",
        {"code": "int"},
        more=(r"(?:RC: -?|err: )(?P<code>\d{1,6})", r"(?:Error: |ERROR: |message: )(?P<status>[\w ]{1,40})"),
    ),
)  # fmt: skip

NCCL_PATTERNS = _WATCHDOG + _COMPARED + _ERRORS + _FABRIC + _OFI
