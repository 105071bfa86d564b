"""Names of memory that say where it is and in which unit: ``gpu_mem_mb``, ``cuda/max_memory_gb``, ``rss_gib``.

A name without a device or a unit is left as it is: whose memory it counts, and in what, nobody can tell.
"""

from __future__ import annotations

from analyzer.model.name_words import word_set, words_of

_MEMORY = word_set("mem memory vram rss ram")
_GPU = word_set("gpu cuda vram hbm nvidia")
_HOST = word_set("cpu host rss ram sys process proc")
_PEAK = word_set("max peak maximum")
_RESERVED = word_set("reserved cached")
_BESIDE = word_set("allocated alloc used usage use in current cur device train system")
_GIB = {
    "gb": 1.0,
    "gib": 1.0,
    "mb": 2.0**-10,
    "mib": 2.0**-10,
    "kb": 2.0**-20,
    "kib": 2.0**-20,
    "bytes": 2.0**-30,
}
"""Units as programs use them: what they call MB is a division by 1024 twice in most, and 5 % off in the rest."""


def read_memory(name: str) -> tuple[str, float] | None:
    """The canonical name of memory in GiB and the factor to it; None unless the words are certain of both.

    >>> read_memory("gpu_mem_mb"), read_memory("max_cuda_memory_gb"), read_memory("memory_mb"), read_memory("gpu_mem")
    (('gpu_memory_allocated_gib', 0.0009765625), ('gpu_memory_peak_gib', 1.0), None, None)
    """
    words = frozenset(words_of(name))
    units = words & _GIB.keys()
    left = words - units - _MEMORY - _GPU - _HOST - _PEAK - _RESERVED - _BESIDE
    on_gpu, on_host = bool(words & _GPU), bool(words & _HOST)
    if len(units) != 1 or left or on_gpu == on_host or not words & _MEMORY:
        return None
    factor = _GIB[next(iter(units))]
    if on_host:
        return None if words & (_PEAK | _RESERVED) else ("host_memory_gib", factor)
    kind = "peak" if words & _PEAK else "reserved" if words & _RESERVED else "allocated"
    return f"gpu_memory_{kind}_gib", factor


def names_memory(name: str) -> bool:
    """Whether a name is one of memory, wherever and in whatever unit."""
    return not _MEMORY.isdisjoint(words_of(name))
