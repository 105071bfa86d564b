"""Lines of schedulers and container platforms: Slurm, PBS, LSF, SGE, Kubernetes, Ray, AWS, Google Cloud, Kubeflow.

One kind says one thing whoever says it: ``job_time_limit``, ``job_memory_limit``, ``job_preempted``,
``job_cancelled``, ``node_failure``, ``job_not_started``, ``job_failed``. Slurm's own last words keep their own kinds,
because their ``reason`` says which of these it was. Records of several lines (``sacct``, ``kubectl describe``) are
read by ``metric_lines.job_records``.
"""

from __future__ import annotations

from analyzer.ingest.text.events.patterns import Pattern

_SLURM: tuple[Pattern, ...] = (
    # as in "slurmstepd: error: *** JOB 7 ON node1 CANCELLED AT 2026-05-19T13:33:12 DUE TO TIME LIMIT ***"
    Pattern(
        "slurm_cancelled",
        "root_candidate",
        ("CANCELLED AT ", "CANCELLED DUE TO "),
        r"\*\*\* (?P<unit>JOB|STEP) (?P<job>\S{1,40})(?: ON (?P<host>\S{1,120}))? CANCELLED(?: AT (?P<at>\S{1,40}))? DUE (?:TO|to) (?P<reason>[A-Za-z][\w ,]{1,80}?) \*\*\*",
        unless="DUE TO TASK FAILURE|DUE TO JOB NOT ENDING WITH SIGNALS",
    ),
    Pattern(
        "slurm_cancelled",
        "root_candidate",
        ("CANCELLED AT ",),
        r"\*\*\* (?P<unit>JOB) (?P<job>\S{1,40})(?: ON (?P<host>\S{1,120}))? CANCELLED AT (?P<at>\S{1,40}) \*\*\*",
    ),
    Pattern(
        "slurm_step_cancelled",
        "teardown",
        ("CANCELLED AT ",),
        r"\*\*\* (?P<unit>STEP) (?P<job>\S{1,40})(?: ON (?P<host>\S{1,120}))? CANCELLED AT (?P<at>\S{1,40}) (?:\*\*\*|DUE TO TASK FAILURE|DUE TO JOB NOT ENDING)",
    ),
    Pattern(
        "slurm_step_failed",
        "cascade",
        (" FAILED (non-zero exit code",),
        r"\*\*\* (?P<unit>JOB|STEP) (?P<job>\S{1,40}) ON (?P<host>\S{1,120}) FAILED \(non-zero exit code or other failure mode\)",
    ),
    # as in "srun: error: node7: tasks 9-10,12: Exited with exit code 1"
    Pattern(
        "slurm_task_failed",
        "cascade",
        ("srun: error: ",),
        r"srun: error: (?P<host>\S{1,80}): tasks? (?P<tasks>[\d,-]{1,200}): (?P<outcome>Exited with exit code (?P<code>\d{1,4})|Killed|Terminated|Segmentation fault|Aborted|Bus error|Out Of Memory"
        r"|Floating point exception|Illegal instruction|Interrupt|User defined signal \d|Trace/breakpoint trap)(?P<core> \(core dumped\))?",
        {"code": "int"},
    ),
    Pattern(
        "job_time_limit",
        "root_candidate",
        ("has exceeded its time",),
        r"[Jj]ob (?P<job>\d{1,12}) has exceeded its time\s{1,12}limit",
    ),
    # Rows of "sacct --noheader"; with a header the whole table is read
    Pattern("job_time_limit", "root_candidate", ("|TIMEOUT|",), r"^(?P<job>\d{1,12})[\w.+-]{0,30}\|.{0,200}\|TIMEOUT\||^(?P<first>\d{1,12})\|TIMEOUT\|"),
    Pattern("job_memory_limit", "root_candidate", ("|OUT_OF_MEMORY|",), r"^(?P<job>\d{1,12})[\w.+-]{0,30}\|.{0,200}OUT_OF_MEMORY\|"),
    Pattern("job_preempted", "root_candidate", ("|PREEMPTED|",), r"^(?P<job>\d{1,12})[\w.+-]{0,30}\|.{0,200}PREEMPTED\|"),
    # Of srun itself, after a task has ended: who waits for whom
    Pattern(
        "slurm_step_aborted",
        "teardown",
        ("Job step aborted: ", "srun: Force Terminated ", "srun: Terminating ", "srun: First task exited ", "srun: forcing job termination"),
        r"srun: (?:Job step aborted: |Force Terminated (?:job step |StepId=|job )(?P<job>[\w.+]{1,40})|Terminating (?:job step |StepId=)(?P<step_id>[\w.+]{1,40})|First task exited|forcing job termination)",
    ),
    Pattern(
        "job_cancelled",
        "root_candidate",
        (" has been revoked",),
        r"(?:srun|salloc): (?:error: )?[Jj]ob (?:allocation )?(?P<job>\d{1,12}) has been revoked",
    ),
    # The step or the job never came to run
    Pattern(
        "job_not_started",
        "root_candidate",
        ("srun: error: Unable to ", "srun: error: Task launch for ", "Batch job submission failed: ", "Application launch failed: ",
         "slurmstepd: error: execve(", "srun: fatal: ", "srun: error: Unable to create step"),
        r"(?:srun|salloc|sbatch|slurmstepd): (?:error|fatal): (?P<message>Unable to (?:create step|allocate resources|confirm allocation)[^\n]{0,300}"
        r"|Task launch for \S{1,40} failed on node (?P<host>\S{1,80}): [^\n]{1,200}|(?:Batch job submission|Application launch) failed: [^\n]{1,200}|execve\(\): [^\n]{1,200}"
        r"|(?:SLURM_|--|cannot|can't|Can not)[^\n]{1,200})",
    ),
    Pattern(
        "node_failure",
        "root_candidate",
        ("NODE FAILURE", "Node failure on ", "node_fail", "NodeNotReady", "because its node has died", "Host EC2 (instance i-"),
        r"DUE TO NODE FAILURE|Node failure on (?P<host>\S{1,80})|\bNodeNotReady\b.{0,40}node-controller|(?:actor|worker|task).{0,80}because its node has died"
        r"|Host EC2 \(instance (?P<instance>i-\w{1,20})\) terminated",
    ),
    # submitit says why Slurm signals, some minutes before the end
    Pattern(
        "job_signal_notice",
        "info",
        ("this job is preempted.", "this job is timed-out.", "andling auto-requeue signal", "job is about to be preempted"),
        r"Caught signal (?P<signal>\w{1,12}) on (?P<host>\S{1,80}): this job is (?P<what>preempted|timed-out)|[Hh]andling auto-requeue signal: (?P<number>\d{1,3})",
        {"number": "int"},
    ),
)  # fmt: skip

_BATCH: tuple[Pattern, ...] = (
    # PBS and Torque, as in "=>> PBS: job killed: walltime 3601 exceeded limit 3600"
    Pattern(
        "job_time_limit",
        "root_candidate",
        ("PBS: job killed: walltime", "PBS: job killed: cput"),
        r"PBS: job killed: (?:walltime|cput) (?P<used>[\d:]{1,16}) exceeded limit (?P<limit>[\d:]{1,16})",
    ),
    Pattern(
        "job_memory_limit",
        "root_candidate",
        ("PBS: job killed: ",),
        r"PBS: job killed: (?P<resource>p?v?mem)(?: job total)? (?P<used>\d{1,20} ?\w{0,4}) exceeded limit (?P<limit>\d{1,20} ?\w{0,4})|PBS: job killed: (?P<host>\S{1,80}) .{0,60}oom",
    ),
    Pattern("job_cancelled", "root_candidate", ("PBS: job killed: ",), r"PBS: job killed: (?P<by>ncpus|cpupercent) (?P<used>[\d.]{1,12}) exceeded limit (?P<limit>\d{1,9})"),
    Pattern(
        "node_failure",
        "root_candidate",
        ("PBS: job killed: node ",),
        r"PBS: job killed: node (?P<node>\d{1,6}) \((?P<host>[^)]{1,80})\) requested job (?:terminate|die)",
    ),
    # LSF writes one word of TERM_* before the summary of the job
    Pattern(
        "job_time_limit",
        "root_candidate",
        ("TERM_RUNLIMIT", "TERM_CPULIMIT", "TERM_DEADLINE", "TERM_WINDOW"),
        r"\bTERM_(?P<term>RUNLIMIT|CPULIMIT|DEADLINE|WINDOW)\b",
    ),
    Pattern("job_memory_limit", "root_candidate", ("TERM_MEMLIMIT", "TERM_SWAP"), r"\bTERM_(?P<term>MEMLIMIT|SWAP)\b"),
    Pattern("job_preempted", "root_candidate", ("TERM_PREEMPT", "TERM_REQUEUE", "TERM_LOAD"), r"\bTERM_(?P<term>PREEMPT|REQUEUE_\w{1,10}|LOAD)\b"),
    Pattern(
        "job_cancelled",
        "root_candidate",
        ("TERM_OWNER", "TERM_ADMIN", "TERM_FORCE_OWNER", "TERM_FORCE_ADMIN"),
        r"\bTERM_(?:FORCE_)?(?P<by>OWNER|ADMIN)\b",
    ),
    Pattern("job_failed", "cascade", ("Exited with exit code ",), r"^Exited with exit code (?P<exit_code>\d{1,4})\.", {"exit_code": "int"}),
    Pattern("job_failed", "cascade", ("Exited by signal ",), r"^Exited by signal (?P<signal_number>\d{1,3})\.", {"signal_number": "int"}),
    # SGE, as in 'job 4711.1 exceeded job hard limit "h_vmem" of queue "gpu.q@node1" (8.1G > limit:8.0G)'
    Pattern(
        "job_time_limit",
        "root_candidate",
        ('hard limit "', "hard wallclock time", "hard run time", "qmaster enforced h_rt"),
        r"hard limit \"[hs]_rt\"(?: of queue \"(?P<queue>[^\"]{1,80})\")?|exceeded hard (?:wallclock|run) time|qmaster enforced h_rt",
        unless=r"-l\s|qsub",
    ),
    Pattern(
        "job_memory_limit",
        "root_candidate",
        ('hard limit "',),
        r"hard limit \"(?P<resource>[hs]_(?:vmem|rss|data))\"(?: of queue \"(?P<queue>[^\"]{1,80})\")?(?: \((?P<used>[\d.]{1,12}\w?) > limit:(?P<limit>[\d.]{1,12}\w?)\))?",
    ),
    Pattern("sigkill", "root_candidate", ("terminated by signal 9", "Exited by signal 9"), r"(?:terminated|Exited) by signal 9\b"),
    Pattern("segfault", "symptom", ("terminated by signal 11", "Exited by signal 11"), r"(?:terminated|Exited) by signal 11\b"),
    Pattern(
        "job_failed",
        "cascade",
        ("Command terminated by signal ",),
        r"Command terminated by signal (?P<signal_number>\d{1,3})",
        {"signal_number": "int"},
    ),
    Pattern(
        "job_failed",
        "cascade",
        ("Command exited with non-zero status ",),
        r"Command exited with non-zero status (?P<exit_code>\d{1,4})",
        {"exit_code": "int"},
    ),
)  # fmt: skip

_KUBERNETES: tuple[Pattern, ...] = (
    Pattern(
        "pod_evicted",
        "root_candidate",
        ("Evicted", "Preempting", "Preempted in order to admit", "TaintManagerEviction", "DisruptionTarget", "The node was low on resource: ", "due to node shutdown"),
        r"[Rr]eason\"?:\s{1,12}\"?(?P<reason>Evicted|Preempting)\b|\bWarning\s{1,8}Evicted\b|Preempted in order to admit|\bTaintManagerEviction\b|The node was low on resource: (?P<resource>[\w.-]{1,60})"
        r"|(?:terminated|shutdown) in response to imminent node shutdown|due to node shutdown",
        more=(r"low on resource: (?P<resource>[\w-]{1,60})",),
    ),
    Pattern(
        "job_time_limit",
        "root_candidate",
        ("DeadlineExceeded", "active on the node longer than the specified deadline", "was active longer than specified deadline"),
        r"[Rr]eason\"?:\s{1,12}\"?DeadlineExceeded|\b(?:Warning|Normal)\s{1,8}DeadlineExceeded\b|active (?:on the node )?longer than (?:the )?specified deadline",
    ),
    Pattern("job_preempted", "root_candidate", ("Preempted by ", "reempted by pod"), r"\bPreempted\b.{0,80}Preempted by (?P<by>[\w./-]{1,120})|[Pp]reempted by pod"),
    # The pod waits for what the cluster does not give it; the first of these often pass by themselves.
    Pattern(
        "pod_waiting",
        "symptom",
        ("FailedScheduling", "FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox"),
        r"\b(?P<reason>FailedScheduling|FailedMount|FailedAttachVolume|FailedCreatePodSandBox)\b",
        more=(r"(?P<message>\d{1,6}/\d{1,6} nodes are available: [^\n]{1,400})", r"(?P<short>Insufficient [\w./-]{1,78}\w)"),
    ),
    Pattern(
        "job_not_started",
        "root_candidate",
        ("ErrImagePull", "ImagePullBackOff", "Failed to pull image", "CreateContainerConfigError", "CreateContainerError", "RunContainerError",
         "InvalidImageName", "UnexpectedAdmissionError", "StartError"),
        r"(?P<reason>ErrImagePull|ImagePullBackOff|Failed to pull image|CreateContainerConfigError|CreateContainerError|RunContainerError|InvalidImageName"
        r"|UnexpectedAdmissionError|\bStartError\b)",
    ),
    Pattern(
        "pod_restarting",
        "cascade",
        ("CrashLoopBackOff", "Back-off restarting failed container"),
        r"CrashLoopBackOff|Back-off restarting failed container(?: (?P<container>[\w.-]{1,80}))?",
    ),
    # Compose and Kubeflow name the process that ended, as in "trainer-1 exited with code 1"
    Pattern(
        "job_failed",
        "cascade",
        (" exited with code ", "exited with a non-zero status of ", "command terminated with exit code "),
        r"(?P<container>[\w.-]{1,80}) exited with code (?P<exit_code>[1-9]\d{0,3})\b|The replica (?P<replica>[\w.-]{1,80}) exited with a non-zero status of (?P<status>\d{1,4})"
        r"|command terminated with exit code (?P<remote>[1-9]\d{0,3})",
        {"exit_code": "int", "status": "int", "remote": "int"},
    ),
    Pattern(
        "job_failed",
        "cascade",
        ("replica(s) failed", "Job has reached the specified backoff limit"),
        r"(?P<job>[\w.-]{1,120}) (?:is failed because|has failed because) (?P<count>\d{1,6}) (?P<replica>\w{1,20}) replica\(s\) failed|Job has reached the specified backoff limit",
        {"count": "int"},
    ),
)  # fmt: skip

_CLOUDS: tuple[Pattern, ...] = (
    # Ray
    Pattern(
        "ray_worker_died",
        "symptom",
        ("A worker died or was killed while executing", "Worker exit type: "),
        r"A worker died or was killed while executing|Worker exit type: (?P<exit_type>\w{1,40})(?: Worker exit detail: (?P<detail>[^\n]{1,300}))?",
        more=(r"Worker exit detail: (?P<detail>[^\n]{1,300})", r"Worker exit type: (?P<exit_type>\w{1,40})"),
    ),
    Pattern(
        "job_memory_limit",
        "root_candidate",
        ("node running low on memory", "Memory on the node (IP: ", "OutOfMemoryError: Container killed due to memory usage", "ran out-of-memory and exited with a non-zero status"),
        r"node running low on memory|Memory on the node \(IP: .{1,200} where the \w{1,12} \(|OutOfMemoryError: Container killed due to memory usage|replica (?P<replica>[\w.-]{1,80}) ran out-of-memory",
    ),
    # AWS Batch, SageMaker, Google Cloud
    Pattern(
        "job_time_limit",
        "root_candidate",
        ("Job attempt duration exceeded timeout", "MaxRuntimeExceeded", "MaxWaitTimeExceeded"),
        r"Job attempt duration exceeded timeout|\bMaxRuntimeExceeded\b|\bMaxWaitTimeExceeded\b",
    ),
    Pattern(
        "job_preempted",
        "root_candidate",
        ("nstance was preempted", "compute.instances.preempted", "JobNodePreempted", "pot Instance interruption", "pot instance interruption", "pot/instance-action", "has been preempted"),
        r"[Ii]nstance was preempted|compute\.instances\.preempted|JobNodePreempted|[Ss]pot [Ii]nstance interruption|spot/instance-action|(?:job|node|worker|VM|task)\W.{0,60}has been preempted",
    ),
    Pattern(
        "job_failed",
        "cascade",
        ("AlgorithmError: ", "Essential container in task exited"),
        r"AlgorithmError: (?P<message>[^\n]{1,300})|Essential container in task exited",
        {"exit_code": "int"},
        more=(r"[Ee]xit ?[Cc]ode:? (?P<exit_code>\d{1,4})",),
    ),
)  # fmt: skip

SCHEDULERS_PATTERNS = _SLURM + _BATCH + _KUBERNETES + _CLOUDS
