"""Lines about processes: signals, launchers, schedulers, data-loader workers, files."""

from __future__ import annotations

from analyzer.ingest.patterns import Pattern

_SIGNALS: tuple[Pattern, ...] = (
    Pattern(
        "keyboard_interrupt",
        "root_candidate",
        ("KeyboardInterrupt", "got signal: 2"),
        r"^\W{0,8}KeyboardInterrupt\b|got signal: 2\b|Signal 2 \(SIGINT\)|Received KeyboardInterrupt",
    ),
    Pattern(
        "sigkill",
        "symptom",
        ("SIGKILL", "Killed"),
        r"Signal 9 \(SIGKILL\)|Signals\.SIGKILL|signal 9\b",
        unless=r"forcefully exiting|Sending process",
    ),
    # The shell's own message, all that a killed program leaves: "run.sh: line 3: 12345 Killed  python train.py"
    Pattern(
        "sigkill",
        "root_candidate",
        ("Killed", "zsh: killed "),
        r"^Killed\s*$|: line \d{1,9}: +\d{1,9} Killed(?:\s|$)|^\[\d{1,4}\][+-]? {1,4}(?:\d{1,9} )?Killed(?:\s|$)|^zsh: killed ",
    ),
    Pattern(
        "sigterm",
        "teardown",
        ("SIGTERM", "got signal: 15"),
        r"Signal 15 \(SIGTERM\)|closing signal SIGTERM|Signals\.SIGTERM|[Rr]eceived SIGTERM|got signal: 15\b",
        unless=r"Main process received SIGTERM",
    ),
    # torchelastic: "Received 1 death signal, shutting down workers", "Sending process 7 closing signal SIGHUP"
    Pattern(
        "sighup",
        "root_candidate",
        ("Received 1 death signal", "closing signal SIGHUP", "(SIGHUP)", "Signals.SIGHUP", "got signal: 1"),
        r"Received 1 death signal|closing signal SIGHUP|Signal 1 \(SIGHUP\)|Signals\.SIGHUP|got signal: 1\b",
    ),
    Pattern(
        "segfault",
        "symptom",
        ("Segmentation fault", "SIGSEGV", "Caught signal 11"),
        r"Segmentation fault|SIGSEGV|Caught signal 11\b",
    ),
    Pattern(
        "sigabrt",
        "symptom",
        ("SIGABRT", "Aborted  ", "terminate called after throwing", "Fatal Python error: Aborted"),
        r"Signal 6 \(SIGABRT\)|Signals\.SIGABRT|: line \d{1,9}: +\d{1,9} Aborted |terminate called after throwing an instance of '(?P<exception>[^']{1,120})'"
        r"|Fatal Python error: Aborted",
    ),
    Pattern(
        "bus_error",
        "root_candidate",
        ("Bus error", "SIGBUS"),
        r"Bus error|SIGBUS",
    ),
    Pattern(
        "memory_corruption",
        "symptom",
        ("double free or corruption", "malloc(): ", "free(): invalid", "corrupted size vs. prev_size"),
        r"double free or corruption|malloc\(\): .{0,40}(?:corrupt|invalid)|free\(\): invalid|corrupted size vs\. prev_size",
    ),
    Pattern(
        "command_not_found",
        "root_candidate",
        (": command not found", ": commande introuvable", ": No such file or directory"),
        r"(?:bash|sh|line \d{1,9}): (?P<command>[^:]{1,200}?) ?: (?:command not found|commande introuvable|No such file or directory)",
    ),
)

_WORKERS: tuple[Pattern, ...] = (
    Pattern(
        "dataloader_worker_killed",
        "root_candidate",
        ("DataLoader worker (pid",),
        r"DataLoader worker \(pid(?:\(s\))? (?P<pid>[\d, ]{1,80})\) (?:is killed by signal: (?P<signal>[\w ]{1,40})|exited unexpectedly)",
    ),
    Pattern(
        "dataloader_worker_exception",
        "symptom",
        ("in DataLoader worker process",),
        r"Caught (?P<exception>\w{1,60}) in DataLoader worker process (?P<worker>\d{1,6})",
        {"worker": "int"},
    ),
)

_LAUNCHERS: tuple[Pattern, ...] = (
    # DeepSpeed's launcher says this of all its children: a consequence, not a cause
    Pattern(
        "launcher_kill",
        "teardown",
        ("Killing subprocess ",),
        r"Killing subprocess (?P<pid>\d{1,9})",
        {"pid": "int"},
    ),
    Pattern(
        "launcher_exit_code",
        "cascade",
        ("exits with return code = ",),
        r"exits with return code = (?P<code>-?\d{1,6})",
        {"code": "int"},
    ),
    Pattern(
        "launcher_exit_code",
        "cascade",
        ("ssh exited with exit code ",),
        r"pdsh@\S{1,80}: (?P<host>\S{1,80}): ssh exited with exit code (?P<code>-?\d{1,6})",
        {"code": "int"},
    ),
    Pattern(
        "process_exit_ok",
        "info",
        (" exits successfully",),
        r"Process (?P<pid>\d{1,9}) exits successfully",
        {"pid": "int"},
    ),
    Pattern(
        "launcher_sigterm", "teardown", ("Main process received SIGTERM",), r"Main process received SIGTERM"
    ),
    # as in "failed (exitcode: -9) local_rank: 3 (pid: 123) of binary: python"
    Pattern(
        "torchrun_worker_failed",
        "symptom",
        ("failed (exitcode: ",),
        r"failed \(exitcode: (?P<exitcode>-?\d{1,6})\) local_rank: (?P<local_rank>\d{1,6})",
        {"exitcode": "int", "local_rank": "int"},
    ),
    Pattern(
        "launcher_exit_code",
        "cascade",
        ("returned non-zero exit status ",),
        r"returned non-zero exit status (?P<code>-?\d{1,6})",
        {"code": "int"},
    ),
)

_SCHEDULERS: tuple[Pattern, ...] = (
    Pattern(
        "slurm_cancelled",
        "root_candidate",
        ("CANCELLED AT ",),
        r"\*\*\* (?P<unit>JOB|STEP) (?P<job>\S{1,40}) ON (?P<host>\S{1,120}) CANCELLED AT (?P<at>\S{1,40}) DUE (?:TO|to) (?P<reason>[A-Za-z][\w ,]{1,80}?) \*\*\*",
        unless="DUE TO TASK FAILURE",
    ),
    Pattern(
        "slurm_cancelled",
        "root_candidate",
        ("CANCELLED AT ",),
        r"\*\*\* (?P<unit>JOB) (?P<job>\S{1,40}) ON (?P<host>\S{1,120}) CANCELLED AT (?P<at>\S{1,40}) \*\*\*",
    ),
    Pattern(
        "slurm_step_cancelled",
        "teardown",
        ("CANCELLED AT ",),
        r"\*\*\* (?P<unit>STEP) (?P<job>\S{1,40}) ON (?P<host>\S{1,120}) CANCELLED AT (?P<at>\S{1,40}) (?:\*\*\*|DUE TO TASK FAILURE)",
    ),
    # as in "srun: error: node7: tasks 9-10,12: Exited with exit code 1"
    Pattern(
        "slurm_task_failed",
        "cascade",
        ("srun: error: ",),
        r"srun: error: (?P<host>\S{1,80}): tasks? (?P<tasks>[\d,-]{1,200}): (?P<outcome>Exited with exit code (?P<code>\d{1,4})|Killed|Terminated|Segmentation fault|Aborted|Bus error|Out Of Memory)",
        {"code": "int"},
    ),
    Pattern(
        "node_failure",
        "root_candidate",
        ("NODE FAILURE", "Node failure on ", "node_fail"),
        r"DUE TO NODE FAILURE|Node failure on \S{1,80}",
    ),
    Pattern(
        "pod_evicted",
        "root_candidate",
        ("reason: Evicted", "reason: Preempting", "DeadlineExceeded", "Preempted in order to admit"),
        r"reason: (?P<reason>Evicted|Preempting)|DeadlineExceeded|Preempted in order to admit",
    ),
)

_FILES: tuple[Pattern, ...] = (
    Pattern(
        "disk_full",
        "root_candidate",
        ("No space left on device", "Disk quota exceeded"),
        r"No space left on device|Disk quota exceeded",
    ),
    Pattern(
        "stale_file_handle",
        "root_candidate",
        ("Stale file handle", "Stale NFS file handle"),
        r"Stale (?:NFS )?file handle",
    ),
    Pattern(
        "file_system_error",
        "root_candidate",
        ("Input/output error", "Read-only file system", "Transport endpoint is not connected"),
        r"(?P<what>Input/output error|Read-only file system|Transport endpoint is not connected)",
    ),
    Pattern("too_many_open_files", "root_candidate", ("Too many open files",), r"Too many open files"),
)

_SOFTWARE: tuple[Pattern, ...] = (
    Pattern(
        "state_dict_mismatch",
        "root_candidate",
        ("size mismatch for ", "Error(s) in loading state_dict for ", "Missing key(s) in state_dict", "Unexpected key(s) in state_dict"),
        r"size mismatch for (?P<parameter>\S{1,200}): .{0,80}torch\.Size\(\[(?P<stored>[\d, ]{1,80})\]\) from checkpoint, the shape in current model is torch\.Size\(\[(?P<wanted>[\d, ]{0,80})\]\)"
        r"|Error\(s\) in loading state_dict for|(?:Missing|Unexpected) key\(s\) in state_dict",
        unless=r"torch\.Size\(\[0\]\) from checkpoint",
    ),
    # ZeRO-3 shards saved without gathering: every tensor of the file has no element
    Pattern(
        "empty_stored_weight",
        "root_candidate",
        ("torch.Size([0]) from checkpoint",),
        r"size mismatch for (?P<parameter>\S{1,200}): .{0,80}torch\.Size\(\[0\]\) from checkpoint",
    ),
    Pattern(
        "autograd_misuse",
        "root_candidate",
        ("modified by an inplace operation", "backward through the graph a second time", "Expected all tensors to be on the same device"),
        r"modified by an inplace operation|[Bb]ackward through the graph a second time|Expected all tensors to be on the same device",
    ),
    Pattern(
        "library_mismatch",
        "root_candidate",
        ("undefined symbol: ", "cannot open shared object file", "' not found (required by ", "Descriptors cannot not be created directly",
         "Descriptors cannot be created directly", "compiled using NumPy 1.x cannot be run in", "numpy.dtype size changed"),
        r"undefined symbol: (?P<symbol>\S{1,300})|cannot open shared object file|version `[^']{1,60}' not found \(required by|Descriptors cannot (?:not )?be created directly"
        r"|compiled using NumPy 1\.x cannot be run in|numpy\.dtype size changed",
    ),
    # Python names the first part that is missing: a plain name is a package that nobody installed, a dotted
    # one a part that the installed package does not have in its version.
    Pattern(
        "module_missing",
        "root_candidate",
        ("ModuleNotFoundError: ", "ImportError: "),
        r"(?P<exception>ModuleNotFoundError|ImportError): No module named '?(?P<module>\w{1,120})(?![\w.])",
    ),
    Pattern(
        "import_failed",
        "root_candidate",
        ("ModuleNotFoundError: ", "ImportError: "),
        r"(?P<exception>ModuleNotFoundError|ImportError): (?:No module named '(?P<module>[\w.]{1,120})'|cannot import name '(?P<name>\w{1,120})'|)",
        unless=r"(?:ModuleNotFoundError|ImportError): No module named '?\w{1,120}(?![\w.])",
    ),
    # argparse, HfArgumentParser, hydra, pydantic
    Pattern(
        "argument_rejected",
        "root_candidate",
        (": error: ", "Some keys are not used by the HfArgumentParser", "Some specified arguments are not used by the HfArgumentParser",
         "ConfigAttributeError", "ConfigKeyError", " is not a valid "),
        r"^\S{1,200}: error: (?:unrecognized arguments|argument \S{1,80}|the following arguments are required|ambiguous option)"
        r"|Some (?:keys|specified arguments) are not used by the HfArgumentParser|omegaconf\.errors\.Config(?:Attribute|Key)Error"
        r"|ValueError: '?(?P<value>[\w.-]{1,80})'? is not a valid ",
    ),
)  # fmt: skip

PROCESS_PATTERNS = _SIGNALS + _WORKERS + _LAUNCHERS + _SCHEDULERS + _FILES + _SOFTWARE
