"""Where the key for a W&B server comes from, so that it goes to that server and to no other.

W&B's own client sends the key in ``WANDB_API_KEY`` to whatever host it is told. Here the host may come from a
link that somebody else wrote, so that a key of the environment is used only for the server which the environment
means: that of ``WANDB_BASE_URL``, else the public one. For any other server ``~/.netrc`` must have an entry.
Keys stay where they are: nothing here returns, prints or stores one.
"""

from __future__ import annotations

import netrc
import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from analyzer.errors import FetchError
from analyzer.fetch.address import RunAddress, RunSetAddress, Server, default_server

_FROM_ENVIRONMENT = ("WANDB_API_KEY", "WANDB_IDENTITY_TOKEN_FILE")

# The client must use what the worker is given and must not talk, ask, report or join another client's process.
_REMOVED = (
    "WANDB_API_KEY", "WANDB_IDENTITY_TOKEN_FILE", "WANDB_SERVICE", "WANDB_DEBUG", "WANDB_CORE_DEBUG", "WANDB_MODE",
    "WANDB_RUN_ID", "WANDB_SWEEP_ID", "WANDB_ENTITY", "WANDB_PROJECT", "WANDB_DIR", "WANDB_CACHE_DIR",
)  # fmt: skip


def key_source(server: Server) -> str:
    """Name of the place that holds the key for a server: a variable or ``netrc``.

    Raises:
        FetchError: There is none, or one that belongs to another server.
    """
    _refuse_clear_text(server)
    held = [name for name in _FROM_ENVIRONMENT if os.environ.get(name, "").strip()]
    if held and default_server().name == server.name:
        return held[0]
    if _netrc_has(server):
        return "netrc"
    if held:
        raise FetchError(
            f"{held[0]} is for {default_server().name} and is not sent to {server.name};"
            f" if you trust that server set WANDB_BASE_URL={server.api_url} or run: wandb login --host {server.api_url}",
            kind="no_key",
        )
    host = "" if server.is_public else f" --host {server.api_url}"
    raise FetchError(
        f"no API key for {server.name}; set WANDB_API_KEY or run: wandb login{host}", kind="no_key"
    )


_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def _refuse_clear_text(server: Server) -> None:
    """Refuse ``http://`` to another machine, where everybody on the way could read the key, unless the user set it.

    Raises:
        FetchError: The address would send a key in clear.
    """
    split = urlsplit(server.api_url)
    if split.scheme == "https" or split.hostname in _LOOPBACK:
        return
    if os.environ.get("WANDB_BASE_URL", "").strip() and default_server() == server:
        return
    raise FetchError(
        f"{server.name}: no key is sent over http://, which everybody on the way can read; give the address with"
        f" https://, or set WANDB_BASE_URL={server.api_url} if you trust the way",
        kind="no_key",
    )


def _netrc_has(server: Server) -> bool:
    named = os.environ.get("NETRC")
    places = [Path(named)] if named else [Path("~/.netrc"), Path("~/_netrc")]
    hosts = [urlsplit(server.api_url).netloc]
    if server.is_public:
        hosts = ["api.wandb.ai", "api.forge.coreweave.com"]
    for place in places:
        try:
            entries = netrc.netrc(str(place.expanduser()))
        except (OSError, RuntimeError, netrc.NetrcParseError, UnicodeDecodeError):
            continue
        # W&B itself never takes the "default" entry for a key of its own
        if any(host in entries.hosts and entries.hosts[host][2] for host in hosts):
            return True
    return False


def worker_environment(server: Server, source: str, scratch: Path) -> Mapping[str, str]:
    """Variables under which the process runs that imports ``wandb``.

    ``WANDB_ERROR_REPORTING=false`` is all that the client offers against telemetry: it starts its service with
    ``--no-observability``, so that neither Sentry nor the server's ``/sdk/otel`` gets anything. Its one other
    request beside the data is ``Viewer``, with which it checks the key. ``WANDB_SILENT`` keeps it from talking
    and from asking for a key.

    Args:
        server: The server asked.
        source: As ``key_source`` gives it.
        scratch: Directory for what the client itself writes: logs, exports.
    """
    variables = {name: value for name, value in os.environ.items() if name not in _REMOVED}
    if source in _FROM_ENVIRONMENT:
        variables[source] = os.environ[source].strip()
    retries = {"MAX": "4", "WAIT_MIN_SECONDS": "1", "WAIT_MAX_SECONDS": "20"}
    for name, value in retries.items():
        variables.setdefault(f"WANDB__GRAPHQL_RETRY_{name}", value)
        variables.setdefault(f"WANDB__FILE_TRANSFER_RETRY_{name}", value)
    variables.setdefault("WANDB_HTTP_TIMEOUT", "30")
    return {
        **variables,
        "WANDB_BASE_URL": server.api_url,
        "WANDB_ERROR_REPORTING": "false",
        "WANDB_SILENT": "true",
        "WANDB_QUIET": "true",
        "WANDB_CONSOLE": "off",
        "WANDB_DISABLE_GIT": "true",
        "TMPDIR": str(scratch),  # the client leaves folders there when it is ended
        "WANDB_DIR": str(scratch),
        "WANDB_CACHE_DIR": str(scratch / "client"),
        "PYTHONUNBUFFERED": "1",
    }


def taken_for_a_run(address: RunAddress | RunSetAddress, error: FetchError) -> FetchError:
    """The error for a text like ``a/b/c``, which the user may have meant as a path."""
    if not isinstance(address, RunAddress) or not address.is_bare:
        return error
    return FetchError(
        f"{address.path}: no such file or directory, so it was taken for a W&B run: {error.message}",
        kind=error.kind,
    )
