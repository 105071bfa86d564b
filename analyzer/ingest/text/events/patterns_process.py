"""Lines about processes: signals, launchers, data-loader workers."""

from __future__ import annotations

from analyzer.ingest.text.events.patterns import Pattern

_SIGNALS: tuple[Pattern, ...] = (
    Pattern(
        "keyboard_interrupt",
        "root_candidate",
        (
            "KeyboardInterrupt",
            "got signal: 2",
            "Received 2 death signal",
            "Signals.SIGINT",
            "(SIGINT)",
            "eyboard interrupt",
            "tatus 3221225786",
        ),
        # 3221225786 is how Windows ends a program at Ctrl+C; launchers wrap "exit status" over two lines
        r"^\W{0,8}KeyboardInterrupt\b|got signal: 2\b|Signal 2 \(SIGINT\)|(?:Received|Detected) KeyboardInterrupt|Received 2 death signal|Signals\.SIGINT"
        r"|\b[Kk]eyboard interrupt(?:ion|ed)?\b|\bstatus 3221225786\b",
        unless=r"(?i)\b(?:press|use|hit|send|handl\w{1,5}|regist\w{1,8}|until)\b",  # says how to, or that one would be handled
    ),
    Pattern(
        "sigkill",
        "root_candidate",
        ("SIGKILL", "Killed"),
        r"Signal 9 \(SIGKILL\)|Signals\.SIGKILL|signal 9\b|terminated (?:with|by) signal SIGKILL",
        unless=r"forcefully exiting|Sending process",
    ),
    # 128 + 9, as containers and shells state it
    Pattern(
        "sigkill",
        "root_candidate",
        ("ode 137", "ode: 137", "ode=137", "tatus 137", "tatus: 137", "Exited (137)"),
        r"\b[Ee]xit(?:ed)?(?: with)?[ _]?(?:[Cc]ode|[Ss]tatus)(?:[:=]|\sof)?\s?137\b|\bExited \(137\)",
    ),
    # The shell's own message, all that a killed program leaves: "run.sh: line 3: 12345 Killed  python train.py"
    Pattern(
        "sigkill",
        "root_candidate",
        ("Killed", "zsh: killed "),
        r"^Killed\s*$|[\]\d%|]Killed\s*$|srun: error: (?P<host>\S{1,80}): tasks? [\d,-]{1,60}: Killed|: line \d{1,9}: +\d{1,9} Killed(?:\s|$)|^\[\d{1,4}\][+-]? {1,4}(?:\d{1,9} )?Killed(?:\s|$)|^zsh: killed ",
    ),
    Pattern(
        "sigterm",
        "teardown",
        ("SIGTERM", "got signal: 15"),
        r"Signal 15 \(SIGTERM\)|closing signal SIGTERM|via signal SIGTERM|Signals\.SIGTERM|[Rr]eceived SIGTERM|got signal: 15\b",
        unless=r"Main process received SIGTERM",
    ),
    # The launcher itself was told to end, by a person, a scheduler, or the launcher of another node that failed.
    Pattern(
        "launcher_signalled",
        "teardown",
        ("Received 15 death signal", "Received Signals.SIGTERM death signal", "got signal: 15"),
        r"Received (?:15|Signals\.SIGTERM) death signal|SignalException: Process \d{1,9} got signal: 15\b",
    ),
    # What a shell or a container says of a program that SIGTERM ended, which itself says nothing
    Pattern(
        "process_terminated",
        "teardown",
        (
            "Terminated",
            "zsh: terminated ",
            "ode 143",
            "ode: 143",
            "ode=143",
            "tatus 143",
            "tatus: 143",
            "Exited (143)",
            "terminated with signal SIGTERM",
        ),
        r"^Terminated\s*$|: line \d{1,9}: +\d{1,9} Terminated(?:\s|$)|^\[\d{1,4}\][+-]? {1,4}(?:\d{1,9} )?Terminated(?:\s|$)|^zsh: terminated "
        r"|\b[Ee]xit(?:ed)?(?: with)?[ _]?(?:[Cc]ode|[Ss]tatus)(?:[:=]|\sof)?\s?143\b|\bExited \(143\)"
        # torch.multiprocessing names the process that ended first, before it ends the others
        r"|ProcessExitedException: process \d{1,6} terminated with signal SIGTERM",
    ),
    # torchelastic: "Received 1 death signal, shutting down workers", "Sending process 7 closing signal SIGHUP"
    Pattern(
        "sighup",
        "root_candidate",
        (
            "Received 1 death signal",
            "Received Signals.SIGHUP death signal",
            "closing signal SIGHUP",
            "(SIGHUP)",
            "Signals.SIGHUP",
            "got signal: 1",
            "by signal: Hangup",
            "terminated with signal SIGHUP",
        ),
        r"Received 1 death signal|closing signal SIGHUP|Signal 1 \(SIGHUP\)|Signals\.SIGHUP|got signal: 1\b|is killed by signal: Hangup|terminated with signal SIGHUP",
    ),
    Pattern(
        "segfault",
        "symptom",
        (
            "Segmentation fault",
            "SIGSEGV",
            "Caught signal 11",
            "zsh: segmentation fault",
            "0xC0000005",
            "tatus 3221225477",
            "tatus 3221225725",
            "Windows fatal exception: ",
        ),
        # 3221225477 is 0xC0000005, an access violation, 3221225725 a stack overflow: how Windows states them to a launcher
        r"\bstatus 3221225(?:477|725)\b|Segmentation fault|SIGSEGV|Caught signal 11\b|zsh: segmentation fault|exit code -1073741819 \(0xC0000005\)|Windows fatal exception: (?:access violation|code 0x)",
        unless=r"There are some potential root causes|Some common causes include",  # Ray lists whatever may end a worker
    ),
    Pattern(
        "sigabrt",
        "symptom",
        (
            "SIGABRT",
            "Aborted  ",
            "Aborted (core dumped)",
            "zsh: abort ",
            "0xC0000409",
            "tatus 3221226505",
            "terminate called after throwing",
            "Fatal Python error: Aborted",
        ),
        r"\bstatus 3221226505\b|Signal 6 \(SIGABRT\)|Signals\.SIGABRT|: line \d{1,9}: +\d{1,9} Aborted |^Aborted \(core dumped\)|^zsh: abort |exit code -1073740791 \(0xC0000409\)|terminate called after throwing an instance of '(?P<exception>[^']{1,120})'"
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
    # glog and absl: a fatal line ends the process: "F0819 10:00:00.1 4321 net.cpp:86] Check failed: n > 0 (0 vs. 0)"
    Pattern(
        "native_check_failed",
        "symptom",
        ("] Check failed: ", "Assertion `"),
        # The C library's own ends its quotation with another sign than that of a kernel, and its line with it.
        r"Assertion `(?P<expression>[^'`]{1,300})' failed\.\s*$"
        r"|(?:^|\s)(?:F\d{4} .{0,80}|F )(?P<place>[\w./-]{1,120}:\d{1,6})\] Check failed: (?P<check>.{1,120})",
        unless=r"thread: \[",
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
        unless=r"by signal: Hangup",  # the whole session got it
    ),
    Pattern(
        "dataloader_worker_killed",
        "root_candidate",
        ("DataLoader process (pid",),  # Paddle
        r"DataLoader process \(pid\s{0,8}(?P<pid>\d{1,9})\) exited is killed by signal: (?P<signal>[\w ]{1,40})",
    ),
    Pattern(
        "dataloader_worker_exception",
        "symptom",
        ("in DataLoader worker process",),
        r"Caught (?P<exception>\w{1,60}) in DataLoader worker process (?P<worker>\d{1,6})",
        {"worker": "int"},
    ),
    # Python reports what a finaliser raises and goes on: loaders that are dropped while processes end
    Pattern(
        "dataloader_teardown",
        "teardown",
        ("Exception ignored in: ", "Exception in thread "),
        r"Exception ignored in: .{0,40}(?P<where>_MultiProcessingDataLoaderIter\.__del__|CombinedLoader\.__del__)|Exception in thread .{0,40}(?P<thread>_pin_memory_loop|QueueFeederThread)",
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
    # torchrun, of a process that did not end by SIGTERM
    Pattern(
        "launcher_kill",
        "teardown",
        (", forcefully exiting via ",),
        r"Unable to shutdown process (?P<pid>\d{1,9}) via \S{1,24}, forcefully exiting via (?P<forced_by>\S{1,24})",
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
    # PyCharm and the shells it starts
    Pattern(
        "launcher_exit_code",
        "cascade",
        ("Process finished with exit code ",),
        r"Process finished with exit code (?P<code>-?[1-9]\d{0,9})",
        {"code": "int"},
    ),
    # mpirun, below "The first process to do so was:"
    Pattern(
        "launcher_exit_code",
        "cascade",
        ("  Exit code:   ",),
        r"^\s{1,8}Exit code: {1,8}(?P<code>\d{1,3})\s*$",
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
        r"failed \(exitcode: (?P<exitcode>-?\d{1,6})\) local_rank: (?P<local_rank>\d{1,6})(?: \(pid: (?P<pid>\d{1,9})\))?",
        {"exitcode": "int", "local_rank": "int", "pid": "int"},
    ),
    Pattern(
        "launcher_exit_code",
        "cascade",
        ("returned non-zero exit status ",),
        r"returned non-zero exit status (?P<code>-?\d{1,10})",
        {"code": "int"},
        unless=r"nvidia-smi",  # asked by a program about its device, not started as training
    ),
)

PROCESS_PATTERNS = _SIGNALS + _WORKERS + _LAUNCHERS
