"""Lines about collectives, rendezvous and connections between ranks."""

from __future__ import annotations

from analyzer.ingest.patterns import Pattern

NETWORK_PATTERNS: tuple[Pattern, ...] = (
    # as in "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=6463, OpType=ALLREDUCE, ...,
    #  Timeout(ms)=1800000) ran for 1800017 milliseconds before timing out."
    Pattern(
        "nccl_timeout",
        "symptom",
        ("collective operation timeout: WorkNCCL(", "milliseconds before timing out"),
        r"collective operation timeout: WorkNCCL\((?:SeqNum=(?P<seq>\d{1,18}), )?OpType=(?P<op>\w{1,40})",
        {"seq": "int", "timeout_ms": "int", "ran_ms": "int", "rank": "int", "numel": "int"},
        more=(
            r"NumelIn=(?P<numel>\d{1,15})",
            r"Timeout\(ms\)=(?P<timeout_ms>\d{1,15})",
            r"ran for (?P<ran_ms>\d{1,15}) milliseconds",
            r"\[Rank (?P<rank>\d{1,6})\]",
        ),
    ),
    # A bar of data preparation whose clock stands at a default timeout of a process group, 10 or 30 minutes:
    # as in "Running tokenizer on dataset:  88%|####| 383700/433643 [29:55<03:25, 2432.70 examples/s]"
    Pattern(
        "dataset_work_at_timeout",
        "info",
        ("Running tokenizer on dataset", "Tokenizing", "Map: ", "Map (num_proc", "Generating train split"),
        r"(?:Running tokenizer on dataset|Tokenizing|Map|Generating train split)\b[^|\r\n]{0,80}\|[^|\r\n]{0,400}\|[^\[\r\n]{0,60}\[(?:9:5\d|10:0\d|29:5\d|30:0\d)<",
        once=True,
    ),
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
            r"Collectives differ in the following aspects: {1,8}(?P<aspect>[\w ]{1,60})",
        ),
    ),
    Pattern(
        "nccl_error",
        "symptom",
        (
            "ncclInternalError",
            "ncclSystemError",
            "ncclUnhandledCudaError",
            "ncclRemoteError",
            "ncclInvalidUsage",
            "NCCL error in: ",
            "NCCL communicator was aborted",
        ),
        r"(?P<error>nccl(?:InternalError|SystemError|UnhandledCudaError|RemoteError|InvalidUsage))|NCCL error in: |NCCL communicator was aborted on rank (?P<rank>\d{1,6})",
        {"rank": "int"},
    ),
    # Not a failure: winning benchmark runs carry dozens
    Pattern("nccl_warn", "info", ("NCCL WARN ",), r"NCCL WARN (?P<message>.{1,200})"),
    Pattern(
        "communicator_abort",
        "cascade",
        (
            "To avoid data inconsistency, we are taking the entire process down",
            "watchdog thread terminated with exception",
            "Some NCCL operations have failed or timed out",
        ),
        r"we are taking the entire process down|watchdog thread terminated with exception|Some NCCL operations have failed or timed out",
    ),
    Pattern(
        "rendezvous_failure",
        "symptom",
        (
            "RendezvousConnectionError",
            "RendezvousTimeoutError",
            "RendezvousClosedError",
            "The client socket has timed out",
            "The client socket has failed to connect",
            "DistNetworkError",
            "DistStoreError",
        ),
        r"(?P<error>Rendezvous(?:Connection|Timeout|Closed)Error|DistNetworkError|DistStoreError)|The client socket has (?:timed out|failed to connect)",
    ),
    Pattern(
        "address_in_use",
        "root_candidate",
        ("Address already in use", "EADDRINUSE"),
        r"Address already in use|EADDRINUSE",
    ),
    Pattern(
        "connection_lost",
        "cascade",
        (
            "Connection reset by peer",
            "Connection closed by peer",
            "onnection closed by remote peer",
            "Broken pipe",
            "Connection refused",
        ),
        r"(?P<what>Connection (?:reset|closed) by peer|[Cc]onnection closed by remote peer|Broken pipe|Connection refused)",
        unless=r"urllib3|huggingface|wandb|https?://",
    ),
    Pattern(
        "gloo_error",
        "symptom",
        ("gloo/transport/",),
        r"gloo/transport/\S{1,80}:\d{1,6}\] (?P<message>.{1,160})",
    ),
    Pattern(
        "infiniband_error",
        "symptom",
        ("IBV_WC_", "ibv_poll_cq", "Got completion from peer"),
        r"(?P<status>IBV_WC_[A-Z_]{2,40}_ERR)|ibv_poll_cq.{0,40}error|Got completion from peer .{0,120}(?:error|status)",
    ),
)
