"""Lines about files and where they lie: full disks, paths, checkpoints that cannot be read or written, remote storage."""

from __future__ import annotations

from analyzer.ingest.text.events.patterns import Pattern

_DISKS: tuple[Pattern, ...] = (
    Pattern(
        "disk_full",
        "root_candidate",
        ("No space left on device", "Disk quota exceeded", "Errno 122]", "uota exceeded", "ENOSPC: "),
        r"No space left on device|[Dd]isk quota exceeded|\[Errno 122\]|ENOSPC: |\b[Qq]uota exceeded (?:for|on)\b",
        more=(r"(?:No space left on device|[Dd]isk quota exceeded): '(?P<path>[^']{1,300})'",),
        unless=r"(?i)cuda|gpu memory|shared memory|/dev/shm/|quota exceeded for (?:quota metric|resource)",
    ),
    Pattern(
        "stale_file_handle",
        "root_candidate",
        ("Stale file handle", "Stale NFS file handle"),
        r"Stale (?:NFS )?file handle",
        more=(r"Stale (?:NFS )?file handle: '(?P<path>[^']{1,300})'",),
    ),
    Pattern(
        "file_system_error",
        "root_candidate",
        ("Input/output error", "Transport endpoint is not connected", "Structure needs cleaning", "Remote I/O error", "Cannot send after transport endpoint shutdown"),
        r"(?P<what>Input/output error|Transport endpoint is not connected|Structure needs cleaning|Remote I/O error|Cannot send after transport endpoint shutdown)",
        more=(r"(?:error|connected|cleaning|shutdown): '(?P<path>[^']{1,300})'",),
        unless=r" prov_errno: ",  # of a network card
    ),
    Pattern(
        "too_many_open_files", "root_candidate", ("Too many open files", "received 0 items of ancdata"),
        r"Too many open files|received 0 items of ancdata",
    ),
    # The kernel about a server that does not answer; "OK" when it comes back
    Pattern(
        "file_server_silent",
        "symptom",
        ("not responding, still trying", "not responding, timed out", "Lustre: ", "LustreError: ", "mount.nfs: Connection timed out", "ceph: mds"),
        r"nfs: server (?P<server>\S{1,120}) not responding|Connection to (?P<target>\S{1,80}) \(at \S{1,80}\) was lost; in progress operations|mount\.nfs: Connection timed out"
        r"|LustreError: .{0,80}(?:timed out|evicted|operation \w{1,20} .{0,40}failed: rc = -(?:5|107|110|11)\b)|ceph: mds\d{1,4} (?:hung|caps stale)",
    ),
    Pattern(
        "file_server_back",
        "info",
        ("nfs: server ", "Connection restored to "),
        r"nfs: server (?P<server>\S{1,120}) OK\b|Connection restored to (?P<target>\S{1,80})",
    ),
)  # fmt: skip

_PATHS: tuple[Pattern, ...] = (
    Pattern(
        "path_unwritable",
        "root_candidate",
        ("Permission denied", "Read-only file system", " cannot be opened.", "Parent directory ", "Operation not permitted: '", "is not writable"),
        r"\[Errno 13\] Permission denied(?:: '(?P<path>[^']{1,300}))?|(?P<what>Read-only file system)(?:: '(?P<where>[^']{1,300}))?"
        r"|File (?P<file>\S{1,300}) cannot be opened\.|Parent directory (?P<parent>\S{1,300}) does not exist|\[Errno 1\] Operation not permitted: '(?P<denied>[^']{1,300})|(?:directory|path|folder) (?P<folder>\S{1,300}) is not writable"
        r"|(?:mkdir|touch|cp|mv|tee|line \d{1,6}): .{0,200}: Permission denied",
        unless=r"publickey|/dev/(?:nvidia|infiniband|kfd|dri|davinci)|Permission denied: '?/(?:proc|sys)/|There was a problem when trying to write in your cache folder",
    ),
    Pattern(
        "missing_path",
        "root_candidate",
        ("No such file or directory: ", "FileNotFoundError: ", "does not appear to have a file named", ": can't open file '", "Can't find a valid checkpoint at",
         "NotADirectoryError: ", "o file or directory of that name", "Error no file named ", "No valid checkpoint found in output directory", "Repo id must be in the form", "Error: Image Not Found "),
        r"No such file or directory: b?'?(?P<path>[^'\n]{1,300})|FileNotFoundError: (?!\[Errno|\[WinError)(?P<message>.{1,200})|(?P<repository>\S{1,200}) does not appear to have a file named (?P<file>[\w.-]{1,120})"
        r"|: can't open file '(?P<script>[^']{1,300})'|Can't find a valid checkpoint at (?P<checkpoint>\S{1,300})|NotADirectoryError: .{0,40}'(?P<folder>[^']{1,300})|Error no file named (?P<name>[\w.-]{1,120})"
        r"|No valid checkpoint found in output directory|Repo id must be in the form .{0,80}: '(?P<local>[^']{1,300})'|AssertionError: Image Not Found (?P<image>\S{1,300})",
        unless=r"pymp-|/tmp/tmp\w{1,12}/?'?$|exec: |nvidia-container",
    ),
)  # fmt: skip

_CHECKPOINTS: tuple[Pattern, ...] = (
    Pattern(
        "checkpoint_corrupt",
        "root_candidate",
        ("PytorchStreamReader failed", "failed finding central directory", "invalid header or archive is corrupted", "Error while deserializing header", "HeaderTooLarge",
         "InvalidHeaderLength", "MetadataIncompleteBuffer", "UnpicklingError: ", "EOFError: Ran out of input", "pickle data was truncated", "The file might be corrupted",
          "Unable to load weights from pytorch checkpoint file", "not a ZIP archive", "Checkpoint shard file is corrupt", "IncompleteMetadata"),
        r"(?P<what>PytorchStreamReader failed [\w ]{1,40}|failed finding central directory|invalid header or archive is corrupted|Error while deserializing header|HeaderTooLarge|InvalidHeaderLength"
        r"|MetadataIncompleteBuffer|EOFError: Ran out of input|pickle data was truncated|The file might be corrupted|Unable to load weights from pytorch checkpoint file|not a ZIP archive)"
        r"|UnpicklingError: (?P<unpickling>(?:invalid load key|unpickling stack underflow|pickle exhausted|could not find MARK|A load persistent id)[^.\n]{0,40})",
        more=(r"(?:checkpoint file for|from pytorch checkpoint file for) '(?P<file>[^']{1,300})'", r"(?:reading|loading|file) '?(?P<path>/\S{1,300}?\.(?:pt|pth|ckpt|bin|safetensors))\b"),
        unless=r"Weights only load failed|reading file .{0,80}(?:in the archive|not found)|invalid magic number; corrupt file\?\)? in",
    ),
    # what a pointer of git-lfs leaves of a checkpoint: the reader meets the "v" of "version https://git-lfs"
    Pattern(
        "lfs_pointer",
        "root_candidate",
        ("invalid load key, 'v'", "git-lfs.github.com/spec"),
        r"invalid load key, 'v'|git-lfs\.github\.com/spec",
    ),
    Pattern(
        "checkpoint_write_failed",
        "root_candidate",
        ("PytorchStreamWriter failed writing", "unexpected pos ", "basic_ios::clear: iostream error", "ios_base::badbit set", "Error while serializing: I", "Failed to write checkpoint", "Failed to save checkpoint", "CheckpointException"),
        r"PytorchStreamWriter failed writing (?P<part>[\w ./-]{1,80})|unexpected pos (?P<reached>\d{1,18}) vs (?P<expected>\d{1,18})|basic_ios::clear: iostream error|ios_base::badbit set: iostream|Error while serializing: I/?[Oo] ?[Ee]rror|[Ff]ailed to (?:write|save) checkpoint\b",
        {"reached": "int", "expected": "int"},
        unless=r"No space left on device|[Dd]isk quota exceeded",
    ),
    # torch.load since 2.6 refuses pickled objects unless asked; the file is sound, except where the first byte
    # is no instruction of a pickle: 60 is "<" of an HTML page, 118 the "v" of a git-lfs pointer.
    Pattern("weights_only_refused", "symptom", ("Weights only load failed",), r"Weights only load failed"),
    Pattern(
        "checkpoint_corrupt",
        "root_candidate",
        ("Unsupported operand ",),
        r"^(?:WeightsUnpickler error: )?Unsupported operand (?P<operand>60|118|123)\b",
        {"operand": "int"},
    ),
)  # fmt: skip

_REMOTE: tuple[Pattern, ...] = (
    Pattern(
        "object_store_error",
        "root_candidate",
        ("An error occurred (SlowDown)", "An error occurred (503)", "An error occurred (RequestTimeout)", "An error occurred (InternalError)", "An error occurred (ServiceUnavailable)",
         "An error occurred (Throttling", "AWS Error SLOW_DOWN", "AWS Error NETWORK_CONNECTION", "AWS Error INTERNAL_FAILURE", "botocore.exceptions.ReadTimeoutError",
         "botocore.exceptions.ConnectTimeoutError", "botocore.exceptions.EndpointConnectionError", "botocore.exceptions.ResponseStreamingError", "botocore.exceptions.ConnectionClosedError",
         "botocore.exceptions.IncompleteReadError", "google.api_core.exceptions.", "Please reduce your request rate", "gcsfs.retry.HttpError", "ServerBusy", "curlCode: 28"),
        r"An error occurred \((?P<error>SlowDown|503|RequestTimeout|InternalError|ServiceUnavailable|Throttling\w{0,20})\)|AWS Error (?P<aws>SLOW_DOWN|NETWORK_CONNECTION|INTERNAL_FAILURE)"
        r"|botocore\.exceptions\.(?P<client>ReadTimeoutError|ConnectTimeoutError|EndpointConnectionError|ResponseStreamingError|ConnectionClosedError|IncompleteReadError)"
        r"|google\.api_core\.exceptions\.(?P<google>ServiceUnavailable|TooManyRequests|DeadlineExceeded|InternalServerError|GatewayTimeout|RetryError)"
        r"|(?P<rate>[Pp]lease reduce your request rate)|gcsfs\.retry\.HttpError: .{0,80}\b(?P<status>429|50[0234])\b|ErrorCode:ServerBusy|curlCode: 28",
        unless=r"(?i)\bretry(?:ing)?\b (?:in|after|attempt|\d)|\bwill retry\b|\bwarning\b",
    ),
    Pattern(
        "object_store_error",
        "root_candidate",
        ("429 Client Error: Too Many Requests",
            "HTTP Error 503: ",
            "HTTP Error 429: ",
            "HTTP Error 504: ", "500 Server Error: ", "502 Server Error: ", "503 Server Error: ", "504 Server Error: ", "Could not obtain block", "HdfsTimeoutException", "java.net.SocketTimeoutException", "ServerDisconnectedError", "ClientPayloadError"),
        r"429 Client Error: Too Many Requests|HTTP Error (?P<code>429|50[34]): |\b(?P<status>50[0234]) Server Error: [A-Z]|Could not obtain block: |java\.net\.SocketTimeoutException|aiohttp\.client_exceptions\.(?:ServerDisconnectedError|ClientPayloadError)",
        unless=r"(?i)\bretry(?:ing)?\b (?:in|after|attempt|\d)|\bwill retry\b|api\.wandb\.ai|\bwandb:|\bwarning\b",
    ),
    # TensorFlow's file systems, when they give up
    Pattern(
        "object_store_error",
        "root_candidate",
        ("retry attempts failed. The last failure: ",),
        r"All \d{1,4} retry attempts failed\. The last failure: .{0,80}?(?:HTTP response code (?P<status>\d{3})|libcurl code (?P<curl>\d{1,3}))?",
    ),
    # retries that go on: the run waits, and may well survive
    Pattern(
        "object_store_retry",
        "info",
        ("SlowDown", "Retrying in ", "retrying in ", "Retry attempt ", "Retrying request", "Read timed out. (read timeout="),
        r"(?:SlowDown|503|429|504|[Tt]imed? ?out|Throttl\w{1,6}|Connection (?:reset|broken)|Connection aborted).{0,200}(?:[Rr]etry(?:ing)?)\b|Retrying in \d{1,6}(?:\.\d{1,3})?s? ?\[Retry|[Rr]etry(?:ing)? (?:attempt|request)\b.{0,120}(?:SlowDown|503|429|[Tt]imed? ?out)",
        unless=r"wandb|MASTER_ADDR|rendezvous|c10d|TCPStore|huggingface",
    ),
)  # fmt: skip

STORAGE_PATTERNS = _DISKS + _PATHS + _CHECKPOINTS + _REMOTE
