"""CUDA compute capability of a GPU by its marketing name.

bf16 arithmetic begins with 8.0 (Ampere); older cards emulate it at best. Names that are not listed stay unknown.
"""

from __future__ import annotations

import re

from analyzer.lazy_regex import LazyRegex
from analyzer.vocabulary.known_names import told_by

BF16_FROM = 8.0

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
    found: float | None = told_by("capabilities", text)
    return found


def supports_bf16(name: str) -> bool | None:
    """Whether the device has bf16 arithmetic, None if the name is not known.

    >>> supports_bf16("Tesla T4"), supports_bf16("NVIDIA H100 80GB HBM3"), supports_bf16("AMD Instinct MI250X"), supports_bf16("GPU")
    (False, True, True, None)
    """
    capability = compute_capability(name)
    if capability is not None:
        return capability >= BF16_FROM
    return True if _OTHER_BF16.search(re.sub(r"[-_]", " ", name.lower())) else None
