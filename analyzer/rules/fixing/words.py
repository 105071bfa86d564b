"""Whether the words of an advice fit the run: whose trainer, accelerator, collectives, kind of data and version they name.

Nothing is held back on a guess: a word is foreign only if a fact says that the run is something else. What the run is
stands in the facts ``run.library``, ``run.platform``, ``run.backend``, ``run.subject`` and ``config.versions.torch``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from analyzer.lazy_regex import LazyRegex
from analyzer.model.tables import Scalar
from analyzer.record import NamedTuple
from analyzer.vocabulary.frameworks import built_on, family


class _Word(NamedTuple):
    """A word and what a run must be for it to mean anything."""

    pattern: LazyRegex  # finds the word
    fact: str  # the fact that decides
    fits: frozenset[str]  # values of the fact with which the word is at home


def _word(pattern: str, fact: str, *fits: str) -> _Word:
    return _Word(LazyRegex(pattern), fact, frozenset(fits))


_WORDS = (
    # Ascend's own names of the same variables are in _RENAMED, so what stands here is NCCL's and RCCL's.
    _word(r"\bTORCH_(?:NCCL|FR)_|\bNCCL_", "run.backend", "nccl", "rccl"),
    _word(r"\bNCCL_|\bTORCH_(?:NCCL|FR)_|\ball_reduce_perf\b|\bnccl\b", "run.platform", "cuda", "rocm"),
    _word(r"\bGLOO_", "run.platform", "cuda", "rocm", "mps"),
    # TensorFlow's tasks find each other by the addresses of their cluster specification
    _word(r"_SOCKET_IFNAME\b|\bMASTER_(?:ADDR|PORT)\b", "run.library", "torch", "jax", "paddle", "mindspore", "mxnet"),
    _word(
        r"\b(?:TORCH|PYTORCH|TORCHDYNAMO|TORCHINDUCTOR)_?\w|\btorch(?:run)?\b|DataLoader|named_parameters|named_modules"
        r"|\.parameters\(\)|\.state_dict\(\)|requires_grad|scaler\.get_scale|\bDeepSpeed\b",
        "run.library",
        "torch",
    ),
    # a Mac has neither the kernel log of Linux nor its shared memory as files, and nobody submits a job to one
    _word(r"\bdmesg\b|/dev/shm\b|\bsacct\b|\bkubectl\b|\bdocker run\b", "run.platform", "cuda", "rocm", "ascend", "tpu", "gaudi"),
    _word(r"\bPYTHONFAULTHANDLER\b", "run.library", "torch", "jax", "tensorflow", "paddle", "mindspore", "mxnet", "mlx", "chainer", "theano"),
    _word(r"\bCUDA|_CUDA_|_cuda_|\bnvidia-|compute-sanitizer|\bNVLink\b|libnvidia|flash-attn|--gpus all", "run.platform", "cuda"),
    _word(r"\bcuda\.|'cuda'|\"cuda", "run.platform", "cuda", "rocm"),  # torch on ROCm keeps the name of the device
    _word(
        r"input_ids|tokenizer|max_position_embeddings|input_embeddings|DataCollatorForSeq2Seq|len\(answer\)|max_new_tokens"
        r"|logits_for_metrics|rollout_probs_diff|sampling_logp_difference",
        "run.subject",
        "language",
    ),
)  # fmt: skip

_RENAMED: Mapping[str, Mapping[str, tuple[str, str | None]]] = {
    # ROCm's allocator and device variables: pytorch.org/docs/stable/notes/hip.html; serialising: HIP's debugging guide
    "rocm": {
        "PYTORCH_CUDA_ALLOC_CONF": ("PYTORCH_HIP_ALLOC_CONF", None),
        "CUDA_VISIBLE_DEVICES": ("HIP_VISIBLE_DEVICES", None),
        "CUDA_LAUNCH_BLOCKING": ("AMD_SERIALIZE_KERNEL", "3"),
    },
    # torch_npu: gitcode.com/ascend/pytorch, docs of its environment variables
    "ascend": {
        "PYTORCH_CUDA_ALLOC_CONF": ("PYTORCH_NPU_ALLOC_CONF", None),
        "CUDA_VISIBLE_DEVICES": ("ASCEND_RT_VISIBLE_DEVICES", None),
        "CUDA_LAUNCH_BLOCKING": ("ASCEND_LAUNCH_BLOCKING", None),
    },
}
"""Platform to variable of CUDA to its own name, and its value where that differs."""

WITHOUT_SCHEDULER = frozenset({"mps"})
"""Platforms of machines that no cluster is made of: nobody submits a job to them."""

_NCCL = LazyRegex(r"(?<![\w-])NCCL(?![\w_-])")
_CUDA = LazyRegex(r"(?<![\w-])CUDA(?![\w_-])")
_SMI = LazyRegex(r"\bnvidia-smi\b")
_GPU = LazyRegex(r"(?<![\w-])GPU(?=s?(?![\w_-]))")
_SPOKEN: Mapping[str, tuple[tuple[LazyRegex, str], ...]] = {
    "rocm": ((_CUDA, "HIP"), (_NCCL, "RCCL"), (_SMI, "rocm-smi")),
    "ascend": ((_CUDA, "CANN"), (_NCCL, "HCCL"), (_SMI, "npu-smi"), (_GPU, "NPU")),
    "tpu": ((_CUDA, "XLA"), (_GPU, "TPU")),
    "gaudi": ((_GPU, "HPU"),),
    "mps": ((_CUDA, "Metal"),),
}
"""Platform to its own word for what a sentence says of CUDA; ids and names of variables are left alone."""

_SINCE_2_9 = 2009.0
"""torch 2.9 as the fact encodes versions: it reads TORCH_FR_BUFFER_SIZE and PYTORCH_ALLOC_CONF; the older names go on working,
the allocator's with a warning."""

_OLDER: Mapping[str, str] = {"TORCH_NCCL_TRACE_BUFFER_SIZE": "TORCH_FR_BUFFER_SIZE"}
"""Name of a variable before torch 2.9 to that since."""

_RESUMES = LazyRegex(
    r"(?:resume\w{0,30}|ckpt_path|--load|--ckpt-step|load_from|--restore-file|auto_resume\w{0,30}|overwrite_output_dir)$"
)


def trainers_of(frameworks: Collection[str]) -> frozenset[str]:
    """Trainers among the frameworks of a run; empty if none was recognised.

    >>> sorted(trainers_of({"torch-profiler", "ultralytics"}))
    ['ultralytics']
    """
    return frozenset(frameworks) - family("library")


def uses(frameworks: Collection[str], spelling: str) -> bool:
    """Whether a run's trainer takes the keys of this spelling.

    >>> uses({"llamafactory"}, "hf-trainer"), uses({"ultralytics"}, "hf-trainer")
    (True, False)
    """
    return not frozenset(frameworks).isdisjoint(built_on(spelling))


def foreign(text: str, facts: Mapping[str, Scalar]) -> bool:
    """Whether a text names something that the run is known not to use.

    >>> foreign("TORCH_NCCL_DUMP_ON_TIMEOUT", {"run.backend": "gloo"}), foreign("TORCH_NCCL_DUMP_ON_TIMEOUT", {})
    (True, False)
    """
    return any(
        (known := facts.get(word.fact)) is not None and known not in word.fits and word.pattern.search(text)
        for word in _WORDS
    )


def localised(text: str, facts: Mapping[str, Scalar]) -> str:
    """A sentence in the words of the run's platform and library of collectives.

    >>> localised("a CUDA kernel waits in NCCL", {"run.platform": "rocm"})
    'a HIP kernel waits in RCCL'
    >>> localised("two GPUs, a GPU-hour and the CUDA context", {"run.platform": "tpu"})
    'two TPUs, a GPU-hour and the XLA context'
    """
    own = _RENAMED.get(str(facts.get("run.platform")), {})
    for name, (instead, value) in own.items():
        text = (
            re.sub(rf"\b{name}\b(?:=1)?", instead + (f"={value}" if value else ""), text)
            if name in text
            else text
        )
    for pattern, instead in _SPOKEN.get(str(facts.get("run.platform")), ()):
        text = pattern.sub(instead, text)
    return _NCCL.sub("gloo", text) if facts.get("run.backend") == "gloo" else text


def variables(pairs: Mapping[str, Any], facts: Mapping[str, Scalar]) -> dict[str, Any]:
    """Environment variables as the run's platform and its version of torch spell them; what means nothing there is left out.

    >>> variables({"CUDA_LAUNCH_BLOCKING": "1"}, {"run.platform": "rocm"})
    {'AMD_SERIALIZE_KERNEL': '3'}
    >>> variables({"PYTORCH_CUDA_ALLOC_CONF": "x"}, {"config.versions.torch": 2010.0})
    {'PYTORCH_ALLOC_CONF': 'x'}
    """
    own = _RENAMED.get(str(facts.get("run.platform")), {})
    version = facts.get("config.versions.torch")
    found: dict[str, Any] = {}
    for key, value in pairs.items():
        name, instead = own.get(key, (key, None))
        if isinstance(version, int | float):
            since = version >= _SINCE_2_9
            if key == "PYTORCH_CUDA_ALLOC_CONF" and since and facts.get("run.platform") != "ascend":
                name = "PYTORCH_ALLOC_CONF"
            if (key in _OLDER and since) or (key in _OLDER.values() and not since):
                continue
        if not foreign(f"{name}={value}", facts):
            found[name] = value if instead is None else instead
    return found


def only_resumes(change: Mapping[str, Mapping[str, Any]], title: str) -> bool:
    """Whether a fix does nothing but go back to a checkpoint.

    >>> only_resumes({"hf-trainer": {"resume_from_checkpoint": "<checkpoint-N>"}}, "Resume earlier")
    True
    """
    keys = [key for pairs in change.values() for key in pairs]
    if keys:
        return all(_RESUMES.search(key.rpartition(".")[2]) for key in keys)
    return title.startswith(("Resume from", "Go back to the checkpoint"))
