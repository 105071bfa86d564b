"""Lines about rendezvous, stores and connections between ranks, outside of NCCL."""

from __future__ import annotations

from analyzer.ingest.text.events.patterns import Pattern

_STORE: tuple[Pattern, ...] = (
    Pattern(
        "rendezvous_failure",
        "symptom",
        ("RendezvousConnectionError", "RendezvousTimeoutError", "RendezvousClosedError", "The client socket has timed out", "DistNetworkError",
         "DistStoreError", "has failed to connect to any network address of (", "waiting for clients. ", "connect() timed out. Original timeout was", "imed out initializing process group in store based barrier"),
        r"(?P<error>Rendezvous(?:Connection|Timeout|Closed)Error|DistNetworkError|DistStoreError)|The client socket has (?:timed out|failed to connect to any network address of \((?P<host_name>[^,)]{1,100}), (?P<store_port>\d{1,5})\))"
        r"|connect\(\) timed out\. Original timeout was|Timed out after \d{1,9} seconds waiting for clients|[Tt]imed out initializing process group in store based barrier",
        {"joined": "int", "expected": "int", "port": "int", "store_port": "int", "rank": "int"},
        more=(
            r"trying to connect to \(?\[?(?P<address>[\w.:%-]{1,100}?)\]?(?:, |:)(?P<port>\d{1,5})\b",
            r"waiting for clients\. (?P<joined>\d{1,7})/(?P<expected>\d{1,7}) clients joined",
            r"world_size=(?P<expected>\d{1,7}), (?:worker_count|num_workers_joined)=(?P<joined>\d{1,7})",
            r"store based barrier on rank: (?P<rank>\d{1,6})",
            # A host name of digits only is read as a number.
            r"any network address of \((?P<bogus>\d{1,12}), ",
        ),
        # An address that is taken, or a peer that closed the store's connection, is told by a kind of its own.
        unless=r"EADDRINUSE|Address already in use|failed to recv|recvValue failed|sendBytes failed|wait timeout after",
    ),
    # Repeated until the store answers: a healthy start prints it a few times
    Pattern(
        "store_connect_failed",
        "info",
        ("The client socket has failed to connect to",),
        r"The client socket has failed to connect to \[?(?P<address>[\w.:%-]{1,100}?)\]?:(?P<port>\d{1,5}) \(errno: \d{1,4} - (?P<reason>[\w ]{1,60})\)",
        {"port": "int"},
        # A host name of digits only is read as a number: an address in 0.0.0.0/8, which no host has.
        more=(r"to \[?(?:::ffff:)?(?P<bogus>0\.(?!0\.0\.0\b)\d{1,3}\.\d{1,3}\.\d{1,3})",),
    ),
    # The store answers, but the key that another rank should have written never comes
    Pattern(
        "store_wait_timeout",
        "symptom",
        ("wait timeout after ", "Socket Timeout", "is setting up NCCL communicator and retr"),
        r"wait timeout after (?P<timeout_ms>\d{1,15}) ?ms, keys: (?P<key>\S{1,120})|(?:RuntimeError|DistStoreError): Socket Timeout|is setting up NCCL communicator and retr\w{1,10} ncclUniqueId",
        {"timeout_ms": "int"},
    ),
    Pattern(
        "hostname_unresolvable",
        "symptom",
        ("Name or service not known", "Temporary failure in name resolution", "getaddrinfo failed"),
        r"Name or service not known|Temporary failure in name resolution|getaddrinfo failed",
        unless=r"network addresses of|hostname of the client|https?|urllib3|huggingface|wandb|port=443|requests|aiohttp|s3|ssl:",
    ),
    # Torch tries IPv6 and IPv4 and warns for each: harmless where one of them works
    Pattern(
        "hostname_warning",
        "info",
        ("network addresses of (",),
        r"network addresses of \((?P<hostname>[^,)]{1,100}), \d{1,5}\) cannot be retrieved",
    ),
    Pattern(
        "address_in_use",
        "root_candidate",
        ("Address already in use", "EADDRINUSE", "Failed to initialize the HCCP process"),  # Ascend: a job before still holds it
        r"Address already in use|EADDRINUSE|Failed to initialize the HCCP process",
        {"port": "int"},
        more=(r"(?:(?:bind to|listen on) (?:\[?[\w.:%-]{1,60}\]?|\?UNKNOWN\?):|\bport: )(?P<port>\d{2,5})",),
    ),
)  # fmt: skip

_PEERS: tuple[Pattern, ...] = (
    Pattern(
        "connection_lost",
        "cascade",
        ("Connection reset by peer", "Connection closed by peer", "onnection closed by remote peer", "Broken pipe", "Connection refused",
         "recvValue failed", "sendBytes failed", "failed to recv, got 0 bytes", "Horovod has been shut down"),
        r"(?P<what>Connection (?:reset|closed) by peer|[Cc]onnection closed by remote peer|Broken pipe|Connection refused|(?:recvValue|sendBytes) failed"
        r"|failed to recv, got 0 bytes|Horovod has been shut down)",
        unless=r"urllib3|huggingface|wandb|https?://|The client socket has failed to connect",
    ),
    Pattern("gloo_error", "symptom", ("gloo/transport/", "Gloo connectFullMesh failed"),
            r"gloo/transport/\S{1,80}:\d{1,6}\] (?P<message>.{1,160})|(?P<mesh>Gloo connectFullMesh failed)"),
    Pattern(
        "gloo_timeout",
        "symptom",
        ("ms for recv operation to complete", "ms for send operation to complete"),
        r"Timed out waiting (?P<timeout_ms>\d{1,15})ms for (?P<op>recv|send) operation to complete",
        {"timeout_ms": "int"},
    ),
    # JAX: its coordination service reports barriers that timed out and tasks that fell silent
    Pattern(
        "coordination_timeout",
        "symptom",
        ("Barrier timed out. Id: ", "Barrier timed out. Barrier_id: "),  # the latter in older jaxlib
        r"Barrier timed out\. (?:Id|Barrier_id): (?P<barrier>[\w.:/-]{1,100}?)\.(?=\s)",
        more=(r"tasks that reached the barrier: (?P<reached>\d{1,7})/(?P<expected>\d{1,7})",),
    ),
    Pattern(
        "coordination_error",
        "symptom",
        ("heartbeat timeout. This indicates that the remote task", "topped sending heartbeats", "JAX distributed service detected fatal errors",
         "shutting down coordination service"),
        r"(?:task:(?P<task>\d{1,7}) )?heartbeat timeout\. This indicates|[Ss]topped sending heartbeats|JAX distributed service detected fatal errors|shutting down coordination service",
        {"task": "int"},
    ),
    # Ascend
    Pattern(
        "hccl_timeout",
        "symptom",
        ("EI0002: ", "EI0006: ", "reason=[stream sync timeout]", "reason=[task timeout]", "error code is 507046", "error code is 507048"),
        r"\b(?P<code>EI0002|EI0006): |reason=\[(?:stream sync|task) timeout\]|error code is 50704[68]\b",
        {"remote_rank": "int"},
        more=(r"remote rank:? ?:?\[(?P<remote_rank>\d{1,6})\]",),
    ),
    Pattern(
        "hccl_error",
        "symptom",
        ("HCCL function error", "DIST call hccl api failed", "call hccl api failed", " function error: Hccl"),
        r"HCCL function error|DIST call hccl api failed|call hccl api failed| function error: Hccl[A-Z]\w{1,40}",
    ),
    # Launchers of MPI name the process that ended first or called abort
    Pattern(
        "mpi_abort",
        "teardown",
        ("MPI_ABORT was invoked on rank", "mpirun noticed that process rank", "mpiexec noticed that process rank", "Process name: [[", " in comm 0"),
        r"MPI_ABORT was invoked on rank (?P<rank>\d{1,6})"
        r"|(?:mpirun|mpiexec) noticed that process rank (?P<noticed>\d{1,6}) with PID \d{1,9} on node (?P<host>[\w.-]{1,64}) exited on signal (?P<signal>\d{1,3})"
        r"|Process name: \[\[\d{1,9},\d{1,6}\],(?P<named>\d{1,6})\]|Abort\(-?\d{1,12}\) on node \d{1,6} \(rank (?P<aborted>\d{1,6}) in comm",
        {"rank": "int", "noticed": "int", "named": "int", "aborted": "int", "signal": "int"},
    ),
    Pattern("launcher_lost_node", "symptom", ("has lost communication with a remote daemon", "lost connection with a remote daemon"),
            r"ORTE has lost communication|lost (?:communication|connection) with a remote daemon"),
    Pattern(
        "ray_actor_died",
        "cascade",
        ("The actor died unexpectedly before finishing this task", "The actor is dead because", "A worker died or was killed while executing a task"),
        r"The actor died unexpectedly before finishing this task|The actor is dead because|A worker died or was killed while executing a task",
    ),
)  # fmt: skip

NETWORK_PATTERNS = _STORE + _PEERS
