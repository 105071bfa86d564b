"""Lines about memory: of the device, of the host, and shared memory."""

from __future__ import annotations

from analyzer.ingest.text.events.patterns import SIZE, Pattern

_GIB = {
    "tried_gib": "gib",
    "total_gib": "gib",
    "free_gib": "gib",
    "allocated_gib": "gib",
    "reserved_gib": "gib",
    "unallocated_gib": "gib",
    "other_process_gib": "gib",
    "gpu": "int",
}

MEMORY_PATTERNS: tuple[Pattern, ...] = (
    # Grammars of 2018 ("total capacity; already allocated; cached"), 1.x ("reserved in total by PyTorch"),
    # 2.1 ("total capacty", sic) and 2.2 on; a message may also end right after "GPU".
    Pattern(
        "cuda_oom",
        "root_candidate",
        (
            "CUDA out of memory",
            "HIP out of memory",
            "NPU out of memory",
            "XPU out of memory",
            "CUDA error: out of memory",
            "HIP error: out of memory",
        ),
        rf"(?:CUDA|HIP|NPU|XPU)(?: error:)? out of memory\b(?:\. Tried to allocate (?P<tried_gib>{SIZE}))?",
        _GIB,
        more=(
            r"\bGPU (?P<gpu>\d{1,4})\b",
            rf"(?P<total_gib>{SIZE}) total capacity",
            rf"total capaci?ty of (?P<total_gib>{SIZE})",
            rf"(?P<free_gib>{SIZE}) free",
            rf"of which (?P<free_gib>{SIZE}) is free",
            rf"(?P<allocated_gib>{SIZE}) already allocated",
            rf"memory (?P<allocated_gib>{SIZE}) is allocated by PyTorch",
            # In total, what is allocated included; the other two count only what lies idle.
            rf"(?P<reserved_gib>{SIZE}) reserved in total by PyTorch",
            rf"(?P<unallocated_gib>{SIZE}) cached",
            rf"(?P<unallocated_gib>{SIZE}) is reserved by PyTorch but unallocated",
            rf"Process \d{{1,9}} has (?P<other_process_gib>{SIZE}) memory in use",
        ),
    ),
    Pattern(
        "cuda_oom",
        "root_candidate",
        (
            "RESOURCE_EXHAUSTED: Out of memory",
            "OOM when allocating tensor",
            "of memory while trying to allocate ",
            "Ran out of memory in memory space ",  # the compiler of a TPU
        ),
        rf"RESOURCE_EXHAUSTED: Out of memory(?: while trying to allocate (?P<tried_gib>{SIZE}))?|OOM when allocating tensor"
        rf"|\bof memory while trying to allocate|Ran out of memory in memory space \w{{2,10}}\b",
        _GIB,
    ),
    # Libraries that only pass the runtime's own words on: torch before 0.5, darknet, Caffe, MXNet, CuPy
    Pattern(
        "cuda_oom",
        "root_candidate",
        (
            "error=2 : out of memory",
            "cuda runtime error (2)",
            "CUDA Error: out of memory",
            "== cudaSuccess (2 vs. 0)",
            "cudaMalloc failed: out of memory",
            "cudaMalloc retry failed: out of memory",
            "OutOfMemoryError: Out of memory allocating ",
        ),
        r"error=2 : out of memory|cuda runtime error \(2\) ?: out of memory|CUDA Error: out of memory|== cudaSuccess \(2 vs\. 0\)\s{1,4}out of memory"
        r"|cudaMalloc (?:retry )?failed: out of memory|OutOfMemoryError: Out of memory allocating ",
    ),
    # NCCL, which has its own buffers on the card: "Cuda failure 'out of memory'", since 2.18 with the number 2
    Pattern(
        "cuda_oom",
        "root_candidate",
        ("Cuda failure 'out of memory'", "Cuda failure 2 'out of memory'"),
        r"Cuda failure (?:2 )?'out of memory'",
    ),
    # Apple: what else is allocated lies in the same process, outside of torch's pool
    Pattern(
        "cuda_oom",
        "root_candidate",
        ("MPS backend out of memory",),
        r"MPS backend out of memory",
        _GIB,
        more=(
            rf"MPS allocated: (?P<allocated_gib>{SIZE})",
            rf"Tried to allocate (?P<tried_gib>{SIZE})",
            rf"max allowed: (?P<total_gib>{SIZE})",
        ),
    ),
    # Intel's runtime; the second is what a full device answers where nothing else is exhausted
    Pattern(
        "cuda_oom",
        "root_candidate",
        ("_OUT_OF_DEVICE_MEMORY", "UR_RESULT_ERROR_OUT_OF_RESOURCES", "PI_ERROR_OUT_OF_RESOURCES"),
        r"\b(?:UR|ZE)_RESULT_ERROR_OUT_OF_DEVICE_MEMORY|\b(?:UR_RESULT|PI)_ERROR_OUT_OF_RESOURCES",
    ),
    # Paddle: what is allocated counts for the whole card
    Pattern(
        "cuda_oom",
        "root_candidate",
        ("Out of memory error on GPU ", "Out of memory error on XPU ", "Out of memory error on NPU "),
        rf"Out of memory error on [GXN]PU (?P<gpu>\d{{1,4}})\. Cannot allocate (?P<tried_gib>{SIZE})",
        _GIB,
        more=(rf"available memory is only (?P<free_gib>{SIZE})",),
    ),
    # MindSpore
    Pattern(
        "cuda_oom",
        "root_candidate",
        ("memory isn't enough and alloc failed",),
        r"Device\(id:(?P<gpu>\d{1,4})\) memory isn't enough and alloc failed",
        {"gpu": "int"},
    ),
    # FSDP gathers the full state dict and fails with a warning only
    Pattern(
        "state_dict_clone_failed",
        "root_candidate",
        ("Failed to clone() tensor with name ",),
        r"Failed to clone\(\) tensor with name (?P<parameter>\S{1,300}) on rank (?P<rank>\d{1,6})",
        {"rank": "int"},
    ),
    Pattern(
        "cpu_oom",
        "root_candidate",
        (
            "DefaultCPUAllocator: ",
            "The paging file is too small",
            "[WinError 1455]",  # the same in other languages
            "Unable to allocate ",
            "Cannot allocate memory",
            "MemoryError",
        ),
        rf"DefaultCPUAllocator: (?:can't allocate|not enough) memory|Unable to allocate (?P<tried_gib>{SIZE}) for an array"
        r"|The paging file is too small for this operation|\[WinError 1455\]|Cannot allocate memory|^\s*(?:numpy\.\S{1,40}\.)?_?(?:Array)?MemoryError\b",
        _GIB,
        unless=r"\bibv_|mlock|locked memory",
    ),
    # Registration of RDMA buffers locks their pages; the limit of the job forbids it.
    Pattern(
        "memlock_limit",
        "root_candidate",
        (
            "Call to ibv_reg_mr",
            "Call to ibv_create_",
            "max locked memory",
            "to allocate some locked memory",
            "mlock failed",
        ),
        r"Call to ibv_(?:reg_mr\w{0,20}|create_[a-z]{2,10}) failed with error (?:Cannot allocate memory|No space left on device|Resource temporarily unavailable)"
        r"|Please set max locked memory|trying to allocate some locked memory|\bmlock failed",
    ),
    Pattern(
        "memlock_warning",
        "info",
        ("RLIMIT_MEMLOCK is ",),
        r"RLIMIT_MEMLOCK is (?P<limit_bytes>\d{1,18}) bytes",
        {"limit_bytes": "int"},
    ),
    Pattern(
        "host_oom_kill",
        "root_candidate",
        (
            "oom_kill",
            "oom-kill",
            "Out of memory: Kill",
            "emory cgroup out of memory",
            "OOMKilled",
            "due to memory pressure (OOM)",
            "Your session crashed after using all available RAM",
        ),
        r"[Oo]ut of memory: Kill(?:ed)? process (?P<pid>\d{1,9})|oom[_-]kill|[Mm]emory cgroup out of memory|OOMKilled|killed due to memory pressure \(OOM\)|Your session crashed after using all available RAM",
        {"pid": "int", "anon_rss_kb": "int"},
        more=(
            r"\banon-rss:(?P<anon_rss_kb>\d{1,15})kB",
            r"[Kk]ill(?:ed)? process (?P<pid>\d{1,9}) \((?P<process>[^)]{1,40})\)",
            r"^(?:[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.,+Z-]{8,30}) (?P<host>[\w.-]{1,64}) kernel:",
        ),
        unless=r"OOMKilled\"?: ?false|oom_kill_disable|oom_kill_allocating|oom-kill:constraint=CONSTRAINT_NONE.{0,40}\bdisabled",
    ),
    Pattern(
        "slurm_oom",
        "root_candidate",
        (
            "oom_kill event",
            "oom-kill event",
            "been OOM Killed",
            "Exceeded job memory limit",
            "Exceeded step memory limit",
            ": Out Of Memory",
        ),
        r"Detected (?P<count>\d{1,9}) oom[_-]kill event|task\S* \S{1,40}: Out Of Memory|been OOM Killed|Exceeded (?:job|step) memory limit",
        {"count": "int"},
        more=(r"srun: error: (?P<host>\S{1,80}): task",),
    ),
    Pattern(
        "shm_too_small",
        "root_candidate",
        (
            "out of shared memory",
            "insufficient shared memory (shm)",
            "unable to open shared memory object",
            "unable to write to file </torch_",
            "No space left on device",
        ),
        r"workers are out of shared memory|insufficient shared memory \(shm\)|unable to open shared memory object|unable to write to file </torch_"
        r"|/dev/shm/.{1,160}No space left on device|No space left on device.{0,10}/dev/shm/",
    ),
)
