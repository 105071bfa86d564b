"""What a pasted text points at on a W&B server: a run, or a project, sweep or group of runs.

    https://wandb.ai/acme/llm/runs/3n17wxwa/logs?nw=nwuser          run, also with /overview, /files, /system
    https://forge.coreweave.com/wandb/acme/llm/runs/3n17wxwa        the same server under its new name
    https://wandb.acme.com:8080/acme/llm/runs/3n17wxwa              self-hosted
    wandb://acme/llm/3n17wxwa   acme/llm/3n17wxwa   acme/llm:3n17wxwa
    https://wandb.ai/acme/llm[/table|/sweeps/<id>|/groups/<name>]   many runs

Not for asking the server anything: see ``runs``.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import SplitResult, quote, unquote, urlsplit

from analyzer.errors import FetchError
from analyzer.ingest.masking import clean_text
from analyzer.record import NamedTuple, dataclass, field

PUBLIC_HOST = "wandb.ai"
"""Name under which all spellings of the public server are shown and cached."""

_PUBLIC_API = "https://api.wandb.ai"
_FORGE_API = "https://api.forge.coreweave.com"
_PUBLIC_HOSTS = {
    "wandb.ai": _PUBLIC_API,
    "www.wandb.ai": _PUBLIC_API,
    "app.wandb.ai": _PUBLIC_API,
    "api.wandb.ai": _PUBLIC_API,
    "wandb.com": _PUBLIC_API,
    "app.wandb.com": _PUBLIC_API,
    "forge.coreweave.com": _FORGE_API,
    "api.forge.coreweave.com": _FORGE_API,
}
_FORGE_PREFIXES = (("wandb",), ("api", "wandb"))

_MAX_TEXT = 2_000
_MAX_PART = 256  # the server's own limit for names is 128
_BARE_PART = re.compile(r"[A-Za-z0-9_.\- ]{1,128}")
_RUN_ID = re.compile(r"[A-Za-z0-9_\-]{1,128}")
_WRAPPING = " \t\r\n<>\"'`()[]"
_TAIL = ".,;!" + _WRAPPING
_NOT_PROJECTS = frozenset(
    {"projects", "orgs", "settings", "login", "authorize", "signup", "site", "home", "registry"}
)


class Server(NamedTuple):
    """A W&B server."""

    api_url: str  # where its API is, without a slash at the end
    app_url: str  # where people look at it
    # host (and port) under which it is shown and cached; one for all spellings of the public server
    name: str

    @property
    def is_public(self) -> bool:
        """Whether it is W&B's own public server."""
        return self.name == PUBLIC_HOST


@dataclass(frozen=True, slots=True)
class RunAddress:
    """One run."""

    server: Server  # where it lies
    entity: str  # user or team
    project: str  # project
    run_id: str  # id, or the name that people see, if that was pasted
    # given as ``entity/project/id``, so that it may be meant as a path
    is_bare: bool = field(default=False, compare=False)

    @property
    def url(self) -> str:
        """Where people look at it; without query string."""
        return f"{self.server.app_url}/{_quoted(self.entity, self.project)}/runs/{_quoted(self.run_id)}"

    @property
    def path(self) -> str:
        """``entity/project/id``, as W&B writes it."""
        return f"{self.entity}/{self.project}/{self.run_id}"


class RunSetAddress(NamedTuple):
    """Many runs: a whole project, or those of one sweep or group."""

    server: Server  # where they lie
    entity: str  # user or team
    project: str  # project
    sweep: str = ""  # id of a sweep, else empty
    group: str = ""  # name of a group, else empty

    @property
    def what(self) -> str:
        """``project``, ``sweep`` or ``group``."""
        return "sweep" if self.sweep else "group" if self.group else "project"

    @property
    def url(self) -> str:
        """Where people look at it; without query string."""
        tail = f"/sweeps/{_quoted(self.sweep)}" if self.sweep else ""
        tail = f"/groups/{_quoted(self.group)}" if self.group else tail
        return f"{self.server.app_url}/{_quoted(self.entity, self.project)}{tail}"


Address = RunAddress | RunSetAddress


def _quoted(*parts: str) -> str:
    return "/".join(quote(part, safe="") for part in parts)


def parse_address(text: str) -> Address | None:
    """What a text points at; None for one that is no address of W&B's and may be a path.

    Args:
        text: As pasted: with brackets, quotes, a query string or a full stop around it.

    Raises:
        FetchError: It is an address, but of nothing that can be fetched.

    >>> address = parse_address("https://wandb.ai/acme/llm/runs/3n17wxwa/overview?nw=x")
    >>> address.path, address.url
    ('acme/llm/3n17wxwa', 'https://wandb.ai/acme/llm/runs/3n17wxwa')
    >>> parse_address("https://wandb.ai/acme/llm/sweeps/ab12cd").what
    'sweep'
    >>> parse_address("runs/7b-17/train.log") is None
    True
    """
    bare = "".join(character for character in text[: _MAX_TEXT * 2] if character.isprintable()).strip(
        _WRAPPING
    )
    lowered = bare[:40].lower()
    if len(bare) > _MAX_TEXT:
        if "://" in lowered:
            raise FetchError(
                "the address is longer than 2,000 characters; paste that of a run", kind="address"
            )
        return None
    if lowered.startswith("wandb://"):
        return _of_parts(_parts(bare[8:].partition("?")[0]), default_server(), bare)
    if "://" in lowered:
        return _of_url(bare.rstrip(_TAIL))
    host = lowered.partition("/")[0]
    if host in _PUBLIC_HOSTS and "/" in bare:  # pasted without https://
        return _of_url(f"https://{bare.rstrip(_TAIL)}")
    return _of_bare(bare)


def _of_url(text: str) -> Address:
    try:
        split = urlsplit(text)
        host, port = (split.hostname or "").lower(), split.port
    except ValueError:
        raise FetchError(f"{_shown(text)}: not a valid address", kind="address") from None
    if split.username is not None or split.password is not None or "@" in split.netloc:
        raise FetchError(
            f"{_without_login(split)}: a user name, password or key does not belong into an address;"
            " remove it (and replace the key if others saw it), then set WANDB_API_KEY or run: wandb login",
            kind="address",
        )
    if split.scheme.lower() not in {"http", "https"}:
        raise FetchError(
            f"{_shown(text)}: addresses of this kind are not read; give the address of a W&B run, or download"
            " the run and give its directory",
            kind="address",
        )
    if not host:
        raise FetchError(f"{_shown(text)}: the address names no server", kind="address")
    parts = _parts(split.path)
    if host in _PUBLIC_HOSTS:
        api_url = _PUBLIC_HOSTS[host]
        server = Server(api_url, f"https://{PUBLIC_HOST}", PUBLIC_HOST)
        if api_url == _FORGE_API:
            for prefix in _FORGE_PREFIXES:
                if tuple(parts[: len(prefix)]) == prefix:
                    parts = parts[len(prefix) :]
        return _of_parts(parts, server, text)
    netloc = f"[{host}]" if ":" in host else host
    server = _server_of(f"{split.scheme.lower()}://{netloc}" + (f":{port}" if port else ""))
    own = default_server()
    prefix_parts = _parts(urlsplit(own.api_url).path)
    if own.name == server.name:
        server = own  # perhaps with a path before the names, which only the setting tells
        if prefix_parts and parts[: len(prefix_parts)] == prefix_parts:
            parts = parts[len(prefix_parts) :]
    return _of_parts(parts, server, text)


def _of_parts(parts: list[str], server: Server, text: str) -> Address:
    """The address that the parts of a path make."""
    kinds = [part.lower() for part in parts]
    is_group = kinds[2:3] == ["groups"]  # only names of groups may hold a slash
    if any(
        len(part) > _MAX_PART or not part.isprintable() or ("/" in part and not (is_group and place == 3))
        for place, part in enumerate(parts)
    ):
        raise FetchError(f"{_shown(text)}: not the address of a W&B run", kind="address")
    if "reports" in kinds[1:3] or "reportlist" in kinds[2:3]:
        raise FetchError(
            f"{_shown(text)}: this is a report; open a run that it shows and give the address of that",
            kind="address",
        )
    if len(parts) < 2 or kinds[0] in _NOT_PROJECTS or kinds[1] in _NOT_PROJECTS:
        raise FetchError(
            f"{_shown(text)}: no run in this address; expected"
            f" {server.app_url}/<entity>/<project>/runs/<run id>",
            kind="address",
        )
    entity, project, rest = parts[0], parts[1], parts[2:]
    if not rest and ":" in project:
        project, _, run_id = project.partition(":")
        rest = [run_id]
    kind = rest[0].lower() if rest else ""
    if not rest or (len(rest) == 1 and kind in {"workspace", "table", "overview", "runs"}):
        return RunSetAddress(server, entity, project)
    if kind == "runs":
        return RunAddress(server, entity, project, rest[1])
    if kind == "sweeps":
        return RunSetAddress(server, entity, project, sweep=rest[1] if len(rest) > 1 else "")
    if kind == "groups" and len(rest) > 1:
        return RunSetAddress(server, entity, project, group=rest[1])
    if (
        len(rest) == 1
        and _RUN_ID.fullmatch(rest[0])
        and kind not in {"artifacts", "groups", "jobs", "launch"}
    ):
        return RunAddress(server, entity, project, rest[0])
    raise FetchError(
        f"{_shown(text)}: neither a run nor a project, sweep or group of runs; expected"
        f" {server.app_url}/<entity>/<project>/runs/<run id>",
        kind="address",
    )


def _of_bare(text: str) -> RunAddress | None:
    """``entity/project/id``, ``entity/project/runs/id`` or ``entity/project:id``, if nothing local is meant."""
    if text.startswith(("/", ".", "~")) or "\\" in text or not text:
        return None
    parts = text.split("/")
    if len(parts) == 2 and parts[1].count(":") == 1:
        parts = [parts[0], *parts[1].split(":")]
    if len(parts) == 4 and parts[2] == "runs":
        parts = [parts[0], parts[1], parts[3]]
    if len(parts) != 3 or not all(_BARE_PART.fullmatch(part) for part in parts):
        return None
    # A file has a suffix; and whoever mistypes a path has its first directory.
    if not _RUN_ID.fullmatch(parts[2]) or _exists(text) or _exists(parts[0]):
        return None
    return RunAddress(default_server(), parts[0], parts[1], parts[2], is_bare=True)


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except OSError:
        return False


def _parts(path: str) -> list[str]:
    return [unquote(part).strip() for part in path.split("/") if part.strip()]


def default_server() -> Server:
    """The server that ``WANDB_BASE_URL`` names, else the public one.

    Raises:
        FetchError: The setting is not an address.
    """
    base_url = os.environ.get("WANDB_BASE_URL", "").strip().rstrip("/")
    return _server_of(base_url) if base_url else Server(_PUBLIC_API, f"https://{PUBLIC_HOST}", PUBLIC_HOST)


def _server_of(base_url: str) -> Server:
    try:
        split = urlsplit(base_url)
        host = (split.hostname or "").lower()
        _ = split.port
    except ValueError:
        host = ""
    if not host or split.scheme.lower() not in {"http", "https"} or "@" in split.netloc:
        raise FetchError(
            "WANDB_BASE_URL is not the address of a server; set it like https://wandb.example.com",
            kind="address",
        )
    if host in _PUBLIC_HOSTS:
        return Server(_PUBLIC_HOSTS[host], f"https://{PUBLIC_HOST}", PUBLIC_HOST)
    return Server(base_url, base_url, split.netloc.lower())


def _without_login(split: SplitResult) -> str:
    return _shown(f"{split.scheme}://***@{split.netloc.rpartition('@')[2]}{split.path}")


def _shown(text: str) -> str:
    """The text as an error may show it: without query string, which may hold a key."""
    return clean_text(text.partition("?")[0].partition("#")[0], 200)
