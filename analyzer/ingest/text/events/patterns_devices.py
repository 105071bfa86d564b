"""Lines about GPUs as programs see them: CUDA and library errors, and which GPU it is."""

from __future__ import annotations

from analyzer.ingest.text.events.patterns import Pattern

_CHECKS = {
    "t >= 0 && t < n_classes": "label",
    "cur_target >= 0 && cur_target < n_classes": "label",
    "target_val >= zero && target_val <= one": "label",
    "srcIndex < srcSelectDimSize": "lookup",
    'ind >=0 && ind < ind_dim_size && "vectorized gather kernel index out of bounds"': "lookup",
    'ind >= 0 && ind < ind_dim_size && "vectorized gather kernel index out of bounds"': "lookup",
}
"""Assertions of kernels that tell what was looked up; all others only say that some index was wrong."""

_CUDA_ERRORS: tuple[Pattern, ...] = (
    Pattern(
        "device_side_assert", "symptom", ("device-side assert triggered",), r"device-side assert triggered"
    ),
    # as in "IndexKernel.cu:92: ... block: [0,0,0], thread: [32,0,0] Assertion `...` failed."
    Pattern(
        "index_assert",
        "root_candidate",
        ("Assertion `",),
        r"thread: \[[\d,]{1,40}\] Assertion `(?P<check>(?P<expression>[^`]{1,200}))` failed",
        unless="probability tensor contains",
        words={"check": _CHECKS},
    ),
    # Lookups in a table (CPU) and, of another kind, class labels in a loss (CPU): "Target 7 is out of bounds."
    Pattern(
        "index_out_of_range",
        "root_candidate",
        ("index out of range in self", " is out of bounds"),
        r"index out of range in (?P<table>self)|\bindex -?\d{1,19} is out of bounds",
    ),
    Pattern(
        "label_out_of_range",
        "root_candidate",
        (" is out of bounds", "Assertion `cur_target"),
        # the second as torch said it up to 1.4
        r"\bTarget (?P<label>-?\d{1,18}) is out of bounds|Assertion `cur_target >= 0 && cur_target < n_classes' failed",
        {"label": "int"},
    ),
    Pattern(
        "illegal_memory_access",
        "symptom",
        # the last is what ROCm's runtime prints before it aborts
        (
            "an illegal memory access was encountered",
            "CUDA_ERROR_ILLEGAL_ADDRESS",
            "Memory access fault by GPU node-",
        ),
        r"an illegal memory access was encountered|CUDA_ERROR_ILLEGAL_ADDRESS|Memory access fault by GPU node-(?P<node>\d{1,4})",
    ),
    Pattern(
        "cublas_error",
        "symptom",
        ("CUBLAS_STATUS_",),
        r"(?P<status>CUBLAS_STATUS_(?!SUCCESS)[A-Z_]{4,40})",
    ),
    Pattern(
        "cudnn_error",
        "symptom",
        (
            "CUDNN_STATUS_",
            "cuDNN error",
            "Unable to find a valid cuDNN algorithm",
            "because cuDNN failed to initialize",
        ),
        r"(?P<status>CUDNN_STATUS_(?!SUCCESS)[A-Z_]{4,40})|cuDNN error|Unable to find a valid cuDNN algorithm|because cuDNN failed to initialize",
        more=(r"(?P<status>CUDNN_STATUS_(?!SUCCESS)[A-Z_]{4,40})",),
    ),
    Pattern(
        "cuda_error",
        "symptom",
        (
            "CUDA error: ",
            "HIP error: ",
            "cuda runtime error (",
            "THCudaCheck FAIL",
            "Cuda failure ",
        ),  # today's torch, torch before 1.5, NCCL
        r"(?:(?:CUDA|HIP) error: |cuda runtime error \(\d{1,4}\) ?: |error=\d{1,4} : |Cuda failure (?:\d{1,4} )?')(?P<message>misaligned address|unspecified launch failure|invalid device ordinal|initialization error|invalid configuration argument"
        r"|no kernel image is available for execution on the device|the launch timed out and was terminated|all CUDA-capable devices are busy or unavailable"
        r"|unknown error|driver shutting down|operation not permitted|invalid argument|peer access is not supported[^.]{0,40}"
        r"|an illegal instruction was encountered|hardware stack error|invalid program counter|operation not supported on global/shared address space)",
    ),
    # A kernel of an Ascend device ended with a fault of its core; 507015 is the matrix core, 507035 the vector core
    Pattern(
        "npu_core_fault",
        "symptom",
        (
            "core execution is abnormal",
            "aicore exception",
            "vector core exception",
            "error code is 507015",
            "error code is 507035",
            "there is an exception of ai",
        ),
        r"(?P<core>aicore|vector core)(?: execution is abnormal| exception)|error code is 5070(?P<code>15|35)\b|there is an exception of (?:\w{1,12} )?(?P<unit>aicore|aivec) error",
    ),
    # Intel: the driver gave the device up, reset it or lost it; Cloud TPU: a chip of the slice does not answer
    Pattern(
        "device_lost",
        "symptom",
        ("RESULT_ERROR_DEVICE_LOST", "PI_ERROR_DEVICE_LOST", "SLICE_FAILURE_CHIP_DRIVER_ERROR"),
        r"\b(?:UR|ZE)_RESULT_ERROR_DEVICE_LOST|\bPI_ERROR_DEVICE_LOST|\bSLICE_FAILURE_CHIP_DRIVER_ERROR",
    ),
    # The switches between the GPUs are not set up: their manager does not run, or was restarted without the GPUs
    Pattern(
        "fabric_not_ready",
        "root_candidate",
        (
            "system not yet initialized",
            "cudaErrorSystemNotReady",
            "CUDA_ERROR_SYSTEM_NOT_READY",
            "configuration error in the Fabric Manager or NVSwitches",
            "Failed to bind NVLink SHARP",
            "transport/nvls.cc:",
        ),
        r"system not yet initialized|cudaErrorSystemNotReady|CUDA_ERROR_SYSTEM_NOT_READY|configuration error in the Fabric Manager or NVSwitches"
        r"|Failed to bind NVLink SHARP|transport/nvls\.cc:\d{1,6} NCCL WARN Cuda failure (?!.{0,12}out of memory)",
    ),
    Pattern(
        "no_kernel_image",
        "root_candidate",
        (
            "no kernel image is available for execution",
            "is not compatible with the current PyTorch installation",
            "hipErrorNoBinaryForGpu",
            "HIP error: invalid device function",
        ),
        r"no kernel image is available for execution|hipErrorNoBinaryForGpu|HIP error: invalid device function|with CUDA capability (?P<capability>sm_\d{1,3}) is not compatible with the current PyTorch",
    ),
    Pattern(
        "cuda_driver_mismatch",
        "root_candidate",
        (
            "CUDA driver version is insufficient",
            "NVML: Driver/library version mismatch",
            "driver on your system is too old",
            "Found no NVIDIA driver",
        ),
        r"CUDA driver version is insufficient|Driver/library version mismatch|NVIDIA driver on your system is too old|Found no NVIDIA driver",
    ),
)

_NAMES: tuple[Pattern, ...] = (
    # nvidia-smi, torch.cuda.get_device_name(), banners. The model must follow the maker's name.
    Pattern(
        "gpu_named",
        "info",
        ("Tesla T4", "Tesla V100", "Tesla P100", "Tesla P40", "Tesla K80", "NVIDIA A", "NVIDIA H", "NVIDIA B", "NVIDIA L4",
         "NVIDIA GeForce", "NVIDIA RTX", "NVIDIA TITAN", "NVIDIA V100", "NVIDIA GH200", "NVIDIA GB", "GeForce RTX",
         "GeForce GTX", "Quadro RTX", "AMD Instinct", "NVIDIA T4"),
        r"(?P<name>(?:NVIDIA )?(?:Tesla [TVPK]\d{1,3}(?:-[\w-]{2,20})?|GeForce (?:RTX|GTX) ?\d{3,4}(?: Ti)?(?: SUPER| Super)?|Quadro RTX \d{4}|TITAN \w{1,5})"
        r"|NVIDIA (?:[ABH]\d{2,3}|GH200|GB\d{3}|L4|L40S?|T4|V100|RTX (?:A\d{4}|PRO \d{4}|\d{4} Ada|\d{4}))(?:-[\w-]{2,20})?(?: (?:\d{2,3}GB )?(?:HBM\d\w?|PCIe|NVL|SXM\d?|\d{2,3}GB))*"
        r"|AMD Instinct MI\d{2,3}\w?)\b",
        once=True,
    ),
)  # fmt: skip

DEVICES_PATTERNS = _CUDA_ERRORS + _NAMES
