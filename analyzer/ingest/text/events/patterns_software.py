"""Lines about the software itself: libraries that do not fit, compilers, autograd, native crashes, containers."""

from __future__ import annotations

from analyzer.ingest.text.events.patterns import Pattern

_AUTOGRAD_FORMS = {
    "modified by an inplace operation": "a tensor was changed in place",
    "ackward through the graph a second time": "the same graph was walked twice",
    "is being used in an in-place operation": "a trainable leaf was changed in place",
    "Expected all tensors to be on the same device": "tensors of different devices met",
    "is not on the expected device": "tensors of different devices met",
    "should be the same": "input and weights lie on different devices",
    "appears to not have been used in the graph": "a tensor took no part in the graph",
    "grad can be implicitly created only for scalar outputs": "backward was called on a tensor that is no scalar",
    "output of a function that returns multiple views": "a view was changed in place",
}
"""What a message of autograd says -> in words."""

_AUTOGRAD: tuple[Pattern, ...] = (
    Pattern(
        "loss_detached",
        "root_candidate",
        ("element 0 of tensors does not require grad", "element 0 of variables does not require grad", "of output has requires_grad=True"),
        # the last one is what re-entrant activation checkpointing says of the same
        r"element 0 of (?:tensors|variables) does not require grad|none of output has requires_grad=True",
    ),
    Pattern(
        "autograd_misuse",
        "root_candidate",
        ("modified by an inplace operation", "ackward through the graph a second time", "is being used in an in-place operation",
         "Expected all tensors to be on the same device", "is not on the expected device", "appears to not have been used in the graph",
         "grad can be implicitly created only for scalar outputs", "function that returns multiple views"),
        r"(?P<form>modified by an inplace operation|ackward through the graph a second time|is being used in an in-place operation"
        r"|Expected all tensors to be on the same device|is not on the expected device|appears to not have been used in the graph"
        r"|grad can be implicitly created only for scalar outputs|output of a function that returns multiple views)",
        more=(
            r"modified by an inplace operation: \[(?P<tensor>[\w. ,\[\]]{1,120})\], which is output \d{1,4} of (?P<operation>\w{1,80})",
            r"found at least two devices, (?P<devices>[\w:]{1,20}(?: and |, )[\w:]{1,20})",
            r"Tensor on device (?P<devices>\w{1,20}(?::\d{1,3})?) is not on the expected device",
        ),
        words={"form": _AUTOGRAD_FORMS},
    ),
    # as in "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same"
    Pattern(
        "autograd_misuse",
        "root_candidate",
        (") and weight type (torch.",),
        r"Input type \(torch\.(?P<input>[\w.]{1,40})\) and weight type \(torch\.(?P<weight>[\w.]{1,40})\) (?P<form>should be the same)",
        words={"form": _AUTOGRAD_FORMS},
    ),
)  # fmt: skip

_LIBRARIES: tuple[Pattern, ...] = (
    Pattern(
        "library_mismatch",
        "root_candidate",
        ("undefined symbol: ", "cannot open shared object file", "' not found (required by ", "Descriptors cannot not be created directly",
         "Descriptors cannot be created directly", "compiled using NumPy 1.x cannot be run in", "size changed, may indicate binary incompatib",
         "module compiled against A", "Numpy is not available"),
        r"undefined symbol: (?P<symbol>\S{1,300})|(?P<library>[\w.+-]{1,120}): cannot open shared object file|version `(?P<version>[^']{1,60})' not found \(required by"
        r"|Descriptors cannot (?:not )?be created directly|compiled using NumPy 1\.x cannot be run in|numpy\.\w{1,20} size changed"
        r"|module compiled against A[BP]I version|Numpy is not available",
        more=(r"ImportError: (?P<file>/[^:\s]{1,300}\.so[\w.-]{0,20}): ",),
        unless=r"nvidia-container-cli|OCI runtime|NVIDIA driver on your system|(?:Warning|WARNING|warn|INFO|DEBUG)\b.{0,200}cannot open shared object file|dlerror: ",
    ),
    Pattern(
        "library_mismatch",
        "root_candidate",
        ("were compiled with different CUDA", "mismatches the version that was used to compile", "operator torchvision::nms does not exist",
         "Torch not compiled with CUDA enabled", "is required for a normal functioning of this module", "was compiled with CUDA Version=",
         "Failed to import transformers.", "loaded libnccl", "is not compatible with this version of "),
        r"were compiled with different CUDA|detected CUDA version \((?P<toolkit>[\d.]{1,12})\) mismatches the version that was used to compile\s{0,4}PyTorch \((?P<built_with>[\d.]{1,12})\)"
        r"|operator torchvision::nms does not exist|Torch not compiled with CUDA enabled"
        r"|ImportError: (?P<needed>\S{1,80}) is required for a normal functioning of this module, but found (?P<found>\S{1,80}?)\.?(?:\s|$)"
        r"|(?:PyTorch|torchvision|torchaudio) was compiled with CUDA Version=(?P<built>[\d.]{1,12}) and"
        r"|Failed to import transformers\.\S{1,120} because of the following error",
    ),
    # A wheel was built without a part that another library of this environment asks for
    Pattern(
        "library_mismatch",
        "root_candidate",
        ("PyTorch was build without libuv", "PyTorch was built without libuv", "Unable to load NCCL library"),
        r"use_libuv was requested but PyTorch was buil[dt] without libuv|Unable to load NCCL library",
    ),
    # bitsandbytes has one binary for each CUDA; an import without it fails, or every 8-bit call does
    Pattern(
        "library_mismatch",
        "root_candidate",
        ("CUDA Setup failed despite GPU being available", "CUDA SETUP: Setup Failed", "bitsandbytes library load error: "),
        r"CUDA Setup failed despite GPU being available|CUDA SETUP: Setup [Ff]ailed|bitsandbytes library load error: (?P<message>.{1,160})",
    ),
    # Extensions that are compiled when they are first needed: DeepSpeed's operators, apex, flash-attn, Megatron
    Pattern(
        "extension_build_failed",
        "root_candidate",
        ("Error building extension '", "Ninja is required to load C++ extensions", "CUDAMismatchException",
         "MissingCUDAException", "CUDA_HOME environment variable is not set", "ninja: build stopped: ", "nvcc fatal",
         "CUDA_HOME does not exist", "unsupported GNU version! gcc versions later than"),
        r"Error building extension '(?P<extension>[\w.-]{1,80})'|Ninja is required to load C\+\+ extensions|CUDAMismatchException|MissingCUDAException"
        r"|CUDA_HOME environment variable is not set|CUDA_HOME does not exist|ninja: build stopped: |nvcc fatal\s{1,4}: (?!Unsupported gpu architecture)|unsupported GNU version! gcc versions later than",
        more=(r"nvcc fatal\s{1,4}: (?P<reason>.{1,120})",),
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
        "module_missing",
        "root_candidate",
        ("the package flash_attn seems to be not installed", "requires the following packages that were not found in your environment"),
        r"the package (?P<module>flash_attn) seems to be not installed|packages that were not found in your environment: (?P<modules>[\w, .-]{1,120})",
    ),
    Pattern(
        "import_failed",
        "root_candidate",
        ("ModuleNotFoundError: ", "ImportError: "),
        r"(?P<exception>ModuleNotFoundError|ImportError): (?:No module named '(?P<module>[\w.]{1,120})'|cannot import name '(?P<name>\w{1,120})'(?: from '(?P<origin>[\w.]{1,120})')?|)",
        unless=r"(?:ModuleNotFoundError|ImportError): No module named '?\w{1,120}(?![\w.])|the package flash_attn seems to be not installed|not found in your environment",
    ),
    # the same package in two versions within one job: Ray, NCCL
    Pattern(
        "version_drift",
        "root_candidate",
        ("Version mismatch: The cluster was started with", "Python minor version mismatch",
         "version mismatch between ranks", "versions differ between ranks", "versions differ across ranks", "different versions on different nodes"),
        r"Version mismatch: The cluster was started with|Python minor version mismatch|version mismatch between ranks"
        r"|versions? differs? (?:between|across) (?:ranks|nodes)|different versions on different nodes",
    ),
)  # fmt: skip

_GPU_SOFTWARE: tuple[Pattern, ...] = (
    Pattern(
        "cuda_driver_mismatch",
        "root_candidate",
        ("forward compatibility was attempted on non supported HW", "unsupported display driver / cuda driver combination",
         "the provided PTX was compiled with an unsupported toolchain", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "cudaErrorInsufficientDriver",
         "is newer than the driver", "unsatisfied condition: cuda>="),
        r"(?P<what>forward compatibility was attempted on non supported HW|unsupported display driver / cuda driver combination"
        r"|the provided PTX was compiled with an unsupported toolchain|CUDA_ERROR_UNSUPPORTED_PTX_VERSION|cudaErrorInsufficientDriver"
        r"|unsatisfied condition: cuda>=)(?P<needed>[\d.]{0,12})",
    ),
    Pattern(
        "no_kernel_image",
        "root_candidate",
        ("FlashAttention only supports Ampere GPUs or newer", "FlashAttention only support", "nvcc fatal   : Unsupported gpu architecture",
         "is not defined for option 'gpu-name'", "device kernel image is invalid", "not supported on this GPU architecture",
         "at least compute capability ", "CUDA_ERROR_NO_BINARY_FOR_GPU", "Unsupported CUDA architecture",
         "invalid value for --gpu-architecture"),
        r"FlashAttention only supports? (?P<wanted>[A-Z]\w{2,12}) GPUs|Unsupported gpu architecture '(?P<capability>\w{1,20})'|Value '(?P<value>sm_\w{1,8})' is not defined for option 'gpu-name'"
        r"|device kernel image is invalid|not supported on this GPU architecture|requires? (?:a GPU (?:with|of) )?at least compute capability|CUDA_ERROR_NO_BINARY_FOR_GPU"
        r"|nvrtc: error: invalid value for --gpu-architecture",  # the compiler is older than the card
        unless=r"[Bb]f(?:loat)?16",
    ),
)  # fmt: skip

_VERSIONS: tuple[Pattern, ...] = (
    # nvidia-smi; a job on several nodes may print several
    Pattern(
        "gpu_driver",
        "info",
        ("Driver Version: ",),
        r"Driver Version: (?P<version>\d{3}\.\d{1,4}(?:\.\d{1,4})?)\b",
        once=True,
    ),
)

_COMPILERS: tuple[Pattern, ...] = (
    Pattern(
        "compile_failed",
        "root_candidate",
        ("BackendCompilerFailed", "InductorError", "LoweringException", "torch._dynamo.exc.", "triton.compiler.errors.",
         "triton.runtime.errors.", "InvalidCxxCompiler", "Failed to find C compiler", "TritonMissing", "Cannot find a working triton installation",
         "PTXASError", "triton.runtime.autotuner.OutOfResources", "Internal Triton PTX codegen error", "CppCompileError", "LLVM ERROR: ", "Graph compile failed. synStatus"),
        r"(?P<what>BackendCompilerFailed|InductorError|LoweringException|CppCompileError|InvalidCxxCompiler|PTXASError|TritonMissing"
        r"|Failed to find C compiler|Cannot find a working triton installation|triton\.\w{1,20}\.errors\.\w{1,40}|OutOfResources|Internal Triton PTX codegen error|LLVM ERROR: |Graph compile failed\. synStatus)"
        r"|torch\._dynamo\.exc\.(?P<dynamo>(?!FailOnRecompileLimitHit|RecompileError)\w{1,60}): ",
        more=(r"backend='(?P<backend>\w{1,40})' raised", r"raised:? (?P<inner>\w{1,60}): ", r"InductorError: (?P<inner>\w{1,60}): "),
        unless=r"\bWON'T CONVERT\b|WARNING|torch\._dynamo hit config|suppress_errors",
    ),
    # Falls back to eager for that function: the run goes on, slower
    Pattern(
        "recompile_limit",
        "info",
        ("torch._dynamo hit config.", "recompile_limit reached"),
        r"torch\._dynamo hit config\.(?P<limit>(?:accumulated_)?(?:cache_size_limit|recompile_limit)) \((?P<value>\d{1,6})\)|recompile_limit reached",
        {"value": "int"},
    ),
    Pattern(
        "recompile",
        "info",
        ("[__recompiles]", "Recompiling function "),
        r"\[__recompiles\].{0,40}Recompiling function (?P<function>\w{1,80})|^Recompiling function (?P<name>\w{1,80})",
    ),
)  # fmt: skip

_NATIVE: tuple[Pattern, ...] = (
    Pattern(
        "illegal_instruction",
        "symptom",
        ("Illegal instruction", "illegal hardware instruction", "SIGILL"),
        r"Illegal instruction|illegal hardware instruction|Signal 4 \(SIGILL\)|Signals\.SIGILL|Caught signal 4\b",
    ),
    Pattern(
        "arithmetic_trap",
        "symptom",
        ("Floating point exception", "SIGFPE"),
        r"Floating point exception(?: \(core dumped\)|\s*$|\s{2,})|Signal 8 \(SIGFPE\)|Signals\.SIGFPE|Caught signal 8\b",
    ),
)

_CONTAINERS: tuple[Pattern, ...] = (
    Pattern(
        "container_start_failed",
        "root_candidate",
        ("OCI runtime create failed", "OCI runtime exec failed", "nvidia-container-cli", "failed to create shim task", "could not select device driver",
         "failed to create containerd task", "failed to start container", "exec user process caused", "exec format error"),
        r"(?P<what>OCI runtime (?:create|exec) failed|nvidia-container-cli(?:\.real)?: [\w ]{1,40}error|failed to create (?:shim|containerd) task|could not select device driver"
        r"|failed to start container|exec user process caused|exec format error)",
        more=(r"nvidia-container-cli(?:\.real)?: (?P<reason>[^\\\n]{1,160})", r"error mounting \\?\"(?P<mount>[^\"\\]{1,200})"),
    ),
    # Kubernetes: reasons of a waiting container and of events
    Pattern(
        "container_start_failed",
        "root_candidate",
        ("ErrImagePull", "ImagePullBackOff", "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "FailedMount", "InvalidImageName",
         "MountVolume.SetUp failed", "Unable to attach or mount volumes", "FailedCreatePodSandBox", "FailedAttachVolume"),
        r"(?P<what>ErrImagePull|ImagePullBackOff|CreateContainerConfigError|CreateContainerError|RunContainerError|FailedMount|InvalidImageName"
        r"|MountVolume\.SetUp failed|Unable to attach or mount volumes|FailedCreatePodSandBox|FailedAttachVolume)",
        more=(r"mage \"(?P<image>[^\"]{1,200})\"", r"volume \"(?P<mount>[^\"]{1,160})\""),
    ),
    Pattern(
        "container_start_failed",
        "root_candidate",
        ("manifest unknown", "pull access denied for", "toomanyrequests: ", "manifest for ", "failed to pull and unpack image"),
        r"(?P<what>manifest unknown|pull access denied|toomanyrequests: You have reached your pull rate limit|failed to pull and unpack image)|manifest for (?P<image>\S{1,200}) not found",
        more=(r"pull access denied for (?P<image>[^,\s]{1,200})",),
    ),
    # Slurm with pyxis and enroot; Apptainer and Singularity
    Pattern(
        "container_start_failed",
        "root_candidate",
        ("pyxis: ", "enroot-", "FATAL:   ", "FATAL: "),
        r"pyxis: (?P<what>(?:couldn't|could not|failed to|unable to) [\w ./:@+-]{1,120}|container start failed[\w ]{0,60})|\[ERROR\] (?:enroot-\S{1,20}: )?(?P<enroot>(?:failed to mount|[Nn]o such file or directory|[Cc]ould not process)[^\n]{0,120})"
        r"|enroot-(?:mount|switchroot|mksquashovlfs): (?P<step>[^\n]{1,120})"
        r"|FATAL: {1,4}(?P<apptainer>(?:[Uu]nable to handle|[Cc]ould not open image|[Ww]hile making image from|container creation failed|[Ii]mage file does not exist|[Uu]nable to build from|While performing build)[^\n]{0,120})",
    ),
)  # fmt: skip

_MATH: tuple[Pattern, ...] = (
    Pattern(
        "tf32_unused",
        "info",
        ("To properly utilize them, you should set `torch.set_float32_matmul_precision", "tensor cores for float32 matrix multiplication available but not enabled"),
        r"To properly utilize them, you should set `torch\.set_float32_matmul_precision|tensor cores for float32 matrix multiplication available but not enabled",
        more=(r"CUDA device \('(?P<gpu>[^']{1,60})'\)",),
        once=True,
    ),
)  # fmt: skip

SOFTWARE_PATTERNS = (
    _AUTOGRAD + _LIBRARIES + _GPU_SOFTWARE + _VERSIONS + _COMPILERS + _NATIVE + _CONTAINERS + _MATH
)
