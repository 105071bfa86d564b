"""Versions of the packages of a run, from ``requirements.txt`` or the output of ``pip freeze``.

    torch==2.5.1+cu124
    flash-attn @ file:///build/flash_attn-2.7.0-cp311-cp311-linux_x86_64.whl

Only exact versions count: ``transformers>=4.40`` does not say what ran.
"""

from __future__ import annotations

import re

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.source_text import bounded_lines, decode
from analyzer.lazy_regex import LazyRegex

PACKAGES = frozenset(
    {
        "accelerate", "apex", "axolotl", "bitsandbytes", "datasets", "deepspeed", "fairseq",
        "flash-attn", "jax", "lightning", "liger-kernel", "llamafactory", "megatron-core", "mmcv",
        "mmengine", "nemo-toolkit", "numpy", "nvidia-cudnn-cu12", "nvidia-nccl-cu12", "optimum", "peft",
        "pytorch-lightning", "sentencepiece", "tensorflow", "tokenizers", "torch", "torchtitan",
        "torchtune", "transformer-engine", "transformers", "triton", "trl", "unsloth", "unsloth-zoo",
        "vllm", "wandb", "xformers", "xtuner",
    }
)  # fmt: skip
"""Packages whose version can bear on a failed training run."""

_MAX_LINE = 2_000
_LINE = LazyRegex(
    r"(?P<name>[A-Za-z0-9][\w.-]{0,99})(?:\[[\w,. -]{0,99}\])?\s*(?P<rest>(?:===?|[~<>!]=|[<>@;]).*)?"
)
_EXACT = LazyRegex(r"===?\s*(?P<version>\d[\w.+!-]{0,60})\s*(?:[;#\\].*)?")
_WHEEL = LazyRegex(
    r"@\s*\S{0,2000}/(?P<name>[A-Za-z0-9][\w.]{0,99})-(?P<version>\d[\w.+!%]{0,60})(?:-\S{0,300})?\.(?:whl|tar\.gz|zip)"
)
_FILE_NAME = LazyRegex(
    r"(?i)(?:^|/)(?:[\w-]*requirements[\w-]*|pip[_-]?freeze|pip[_-]?list|freeze|packages)\.txt$"
)


class Requirements:
    """Reads package versions."""

    def sniff(self, candidate: Candidate) -> Match:
        """Nearly every line is a package with a version; the file name lowers the bar."""
        lines = [line.strip() for line in decode(candidate.head).split("\n")[:200]]
        lines = [line for line in lines if line and not line.startswith(("#", "-"))]
        stated = [match for line in lines if (match := _LINE.fullmatch(line)) and match["rest"]]
        if _FILE_NAME.search(candidate.name) and stated:
            return Match.SURE
        pinned = [match for match in stated if match["rest"].startswith("==") or "://" in match["rest"]]
        return Match.LIKELY if len(pinned) >= 3 and len(pinned) > 0.8 * len(lines) else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Exact versions of the packages that matter, under the framework ``versions``."""
        for line, data in bounded_lines(source, out):
            found = parse_version(decode(data).strip())
            if found is not None and found[0] in PACKAGES:
                out.config(found[0], found[1], framework="versions", line=line)


def parse_version(text: str) -> tuple[str, str] | None:
    """Normalised name and exact version of one line, None if it states none.

    >>> parse_version("Flash_Attn==2.7.0  # built here"), parse_version("torch>=2.0")
    (('flash-attn', '2.7.0'), None)
    """
    match = _LINE.fullmatch(text) if len(text) <= _MAX_LINE else None
    if match is None or not match["rest"]:
        return None
    exact = _EXACT.fullmatch(match["rest"]) or _WHEEL.match(match["rest"])
    if exact is None:
        return None
    return re.sub(r"[-_.]+", "-", match["name"]).lower(), exact["version"].replace("%2B", "+").replace(
        "%2b", "+"
    )
