"""What the last frame of a traceback without its exception needed: few functions fail for one reason only."""

from __future__ import annotations

from analyzer.ingest.text.failures.traceback_frames import Frame
from analyzer.lazy_regex import LazyRegex
from analyzer.model.tables import Scalar

_NEEDS = (
    # the runtime of a device is started at the first use of the device
    ("device", LazyRegex(r"[/\\](?:torch|torch_npu|intel_extension_for_pytorch)[/\\](?:cuda|npu|xpu|musa|hpu)[/\\]__init__\.py$"), LazyRegex(r"^_lazy_init$")),
    ("library", LazyRegex(r"(?:^|[/\\])ctypes[/\\]__init__\.py$|[/\\]torch[/\\]_ops\.py$|[/\\]torch[/\\]__init__\.py$"), LazyRegex(r"^(?:CDLL\.)?__init__$|^(?:LoadLibrary|load_library|_load_global_deps|_load_dll_libraries)$")),
    ("folder", LazyRegex(r"(?:^|[/\\])(?:os|pathlib)\.py$|^<frozen os>$"), LazyRegex(r"^(?:makedirs|mkdir)$")),
    ("table", LazyRegex(r"[/\\]torch[/\\]nn[/\\]functional\.py$"), LazyRegex(r"^embedding$")),
)  # fmt: skip


def needed_by(last: Frame | None) -> dict[str, Scalar]:
    """Field ``needs``: what a call needed that ended in this frame. Most tell nothing.

    >>> needed_by(Frame("/opt/lib/python3.11/ctypes/__init__.py", 376, "__init__", "  "))
    {'needs': 'library'}
    >>> needed_by(Frame("train.py", 3, "main", "  "))
    {}
    """
    if last is None:
        return {}
    for name, files, functions in _NEEDS:
        if files.search(last.file) and functions.search(last.function):
            return {"needs": name}
    return {}
