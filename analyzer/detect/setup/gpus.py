"""CUDA compute capability of a GPU by its marketing name.

From NVIDIA's public list "CUDA GPU Compute Capability". bf16 arithmetic begins with 8.0 (Ampere); older
cards emulate it at best. Names that are not listed stay unknown.
"""

from __future__ import annotations

import re

from analyzer.lazy_regex import LazyRegex

BF16_FROM = 8.0

_CAPABILITY: tuple[tuple[str, float], ...] = (
    # The first match decides; more specific names stand first.
    (r"\b(?:gb300|b300)\b", 10.3),
    (r"\b(?:gb200|b200|b100)\b", 10.0),
    (r"\bgb10\b", 12.1),
    (r"rtx pro \d{4} blackwell|rtx 50[5-9]0|rtx pro 6000", 12.0),
    (r"\b(?:h100|h200|h800|h20|gh200)\b", 9.0),
    (r"\b(?:l40s?|l4|l20|l2)\b|rtx 40[5-9]0|rtx [456]000 ada|rtx \d{4} sff ada|\bada generation\b", 8.9),
    (r"\b(?:a100|a800|a30)\b", 8.0),
    (r"\b(?:a40|a10g?|a16|a2|a10m)\b|rtx 30[5-9]0|rtx a\d{4}", 8.6),
    (r"\borin\b", 8.7),
    (r"\bt4g?\b|rtx 20[5-9]0|gtx 16[5-6]0|quadro rtx|titan rtx", 7.5),
    (r"\bv100s?\b|titan v\b|quadro gv100", 7.0),
    (r"\bxavier\b", 7.2),
    (r"\bp100\b|quadro gp100", 6.0),
    (r"\b(?:p40|p4)\b|gtx 10[5-8]0|titan x ?p|quadro p\d{3,4}", 6.1),
    (r"\bm60\b|\bm40\b|gtx 9[5-8]0", 5.2),
    (r"\bk80\b", 3.7),
)
# Accelerators without a CUDA capability that have bf16 arithmetic (vendors' data sheets).
_OTHER_BF16 = LazyRegex(r"\bmi(?:2\d0x?|3\d{2}[ax]?)\b|\btpu\b|gaudi|trainium|ascend ?910b|max 1\d50")


def compute_capability(name: str) -> float | None:
    """Capability of a GPU, None if the name is not known.

    >>> compute_capability("Tesla T4"), compute_capability("NVIDIA A100-SXM4-80GB"), compute_capability("Tesla V100-SXM2-16GB")
    (7.5, 8.0, 7.0)
    >>> compute_capability("NVIDIA GeForce RTX 4090"), compute_capability("AMD Instinct MI300X")
    (8.9, None)
    """
    text = re.sub(r"[-_]", " ", name.lower())
    return next((capability for pattern, capability in _CAPABILITY if re.search(pattern, text)), None)


def supports_bf16(name: str) -> bool | None:
    """Whether the device has bf16 arithmetic, None if the name is not known.

    >>> supports_bf16("Tesla T4"), supports_bf16("NVIDIA H100 80GB HBM3"), supports_bf16("AMD Instinct MI250X"), supports_bf16("GPU")
    (False, True, True, None)
    """
    capability = compute_capability(name)
    if capability is not None:
        return capability >= BF16_FROM
    return True if _OTHER_BF16.search(re.sub(r"[-_]", " ", name.lower())) else None
