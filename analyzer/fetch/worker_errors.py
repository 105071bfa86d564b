"""What a failure of the ``wandb`` client means to a user: its kind, and one line that says what to do."""

from __future__ import annotations

import errno
import re

from analyzer.errors import FetchError
from analyzer.ingest.masking import clean_text

_STATUS = re.compile(r"\b(?:HTTP|error)[ :]{1,3}(\d{3})\b")
_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS, errno.ENAMETOOLONG})
_LIMITED = ("rate limit", "too many requests", "http 429")
_SCHEMA = (
    "cannot query field",
    "unknown argument",
    "unknown type",
    "not supported by this server",
    "requires server",
)
_SILENT = ("did not respond in time", "timed out", "timeout", "deadline exceeded")
_UNREACHABLE = (
    "connection refused", "no such host", "no route to host", "network is unreachable", "connection reset",
    "dial tcp", "name resolution", "certificate", "eof", "failed to connect", "proxyconnect",
)  # fmt: skip
_MISSING = ("could not find", "not found", "does not exist")
_LOGIN = ("not logged in", "invalid credentials", "relogin", "unauthorized", "api key")


def status_of(error: BaseException) -> int:
    """HTTP status behind an error, 0 if unknown."""
    seen = 0
    cause: BaseException | None = error
    while cause is not None and seen < 8:
        status = getattr(getattr(cause, "response", None), "http_status", 0) or 0
        found = _STATUS.search(str(cause))
        if status or found:
            return int(status or (found[1] if found else 0))
        cause, seen = cause.__cause__ or cause.__context__, seen + 1
    return 0


def explain(error: BaseException, *, server: str, what: str, logging_in: bool = False) -> FetchError:
    """The error as the user gets it.

    Args:
        error: As raised by the client.
        server: Name of the server.
        what: ``entity/project/id`` or ``entity/project``; empty while the key is checked.
        logging_in: Whether the client was checking the key.
    """
    if isinstance(error, FetchError):
        return error
    if isinstance(error, OSError) and error.errno in _DISK:
        return FetchError(
            f"the cache cannot be written ({error.strerror}); free it or set ANALYZER_CACHE_DIR to a folder that can be",
            kind="cache",
        )
    text = f"{type(error).__name__} {error}".lower()
    status = status_of(error)
    kind, message = _meaning(text, status, server, what, logging_in=logging_in)
    if kind == "server":
        detail = clean_text(" ".join(str(error).split()), 200) or type(error).__name__
        message = f"{message} ({detail})"
    return FetchError(f"{what}: {message}" if what else message, kind=kind)


def _meaning(text: str, status: int, server: str, what: str, *, logging_in: bool) -> tuple[str, str]:
    if status == 429 or any(mark in text for mark in _LIMITED):
        return "rate_limit", (
            f"{server} limits your requests (HTTP 429) and went on doing so after the waits that it asked for in"
            " Retry-After; try again in a few minutes"
        )
    if any(mark in text for mark in _SCHEMA):
        return "old_server", (
            f"{server} is too old for the installed wandb client; update the server, or install an older client:"
            " pip install 'wandb<0.26'"
        )
    if any(mark in text for mark in _SILENT) or status in (408, 504):
        return "timeout", f"{server} did not answer in time; check the connection and try again"
    if any(mark in text for mark in _UNREACHABLE):
        return "unreachable", (
            f"{server} cannot be reached; check the address, the network, proxy (HTTPS_PROXY) and certificates"
        )
    if logging_in and status == 404:
        return "address", f"{server} is no W&B server; check the address or WANDB_BASE_URL"
    if (
        logging_in
        and (status in (0, 401, 403))
        and any(mark in text for mark in (*_LOGIN, "permission", "denied"))
    ):
        return "refused_key", (
            f"{server} refuses the API key; create one at {_key_page(server)} and set WANDB_API_KEY or run:"
            " wandb login --relogin"
        )
    if status == 401 or any(mark in text for mark in ("not logged in", "relogin")):
        return "refused_key", f"{server} refuses the API key; create one at {_key_page(server)}"
    if status == 403 or "permission denied" in text or "forbidden" in text:
        return (
            "private",
            "the run is private: your key has no access; ask its owner, or use the key of a member",
        )
    if status == 404 or any(mark in text for mark in _MISSING):
        return "not_found", f"no such run on {server}, or it is private and your key has no access"
    if status >= 500:
        return "unreachable", f"{server} fails (HTTP {status}); try again later"
    where = "while the key was checked" if logging_in else "while it was read" if what else ""
    return "server", f"{server} or its client failed {where}".rstrip()


def _key_page(server: str) -> str:
    return "https://wandb.ai/authorize" if server == "wandb.ai" else f"{server}/authorize"
