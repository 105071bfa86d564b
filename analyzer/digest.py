"""SHA-256 by Python's own module: that of OpenSSL, which ``hashlib`` takes, costs a start as much as ten modules of ours."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any


def _sha256() -> Callable[[bytes], Any]:
    for module in ("_sha2", "_sha256"):  # since Python 3.12, and before
        with suppress(ImportError):
            return import_module(module).sha256  # type: ignore[no-any-return]
    return import_module("hashlib").sha256  # type: ignore[no-any-return]


sha256 = _sha256()


def policy_digest(text: str) -> str:
    """Digest of a script or a style sheet, as a content security policy names it."""
    from base64 import b64encode  # noqa: PLC0415  (pages need it alone)

    return b64encode(sha256(text.encode()).digest()).decode()
