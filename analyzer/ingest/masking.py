"""Make text of a log, a configuration or a command line safe to show: no control characters, no secrets, bounded length."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from analyzer.lazy_regex import LazyRegex
from analyzer.model.config import ConfigScalar
from analyzer.vocabulary import cache
from analyzer.vocabulary.marked import MarkedFile
from analyzer.vocabulary.sections import check_expression, check_section

MAX_TEXT = 2048
"""Characters kept of one event's text; enough for every message of the survey."""

# ESC sequences (CSI, OSC, two-byte) and the orphan form "[31m" whose ESC was lost on the way.
ANSI = LazyRegex(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]{0,512}(?:\x07|\x1b\\)|\x1b[@-Z\\-_]|\[(?:\d{1,3};?){1,4}m"
)
_CONTROL = LazyRegex(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")

_HALF = LazyRegex(r"[\ud800-\udfff]")


def safe_name(name: str) -> str:
    r"""The name of a file as it may be shown and stored: what is no visible character stands as its number.

    >>> safe_name("rank_0.log"), safe_name("a\nb\x1b[31m\udce4.log")
    ('rank_0.log', 'a\\nb\\x1b[31m\\xe4.log')
    """
    if name.isascii() and name.isprintable():
        return name
    return "".join(map(_visible, name))


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8, as Python keeps it in names
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


@lru_cache(maxsize=1024)  # a run says the same again and again: of its texts four in five were seen before
def clean_text(text: str, limit: int = MAX_TEXT) -> str:
    r"""Text without escape sequences, control characters and secrets, at most ``limit`` characters.

    >>> clean_text("\x1b[31mloss\x1b[0m nan\x07 api_key=abcdef123456")
    'loss nan api_key=***'
    """
    text = text[: limit * 4]  # bound the work on a line of megabytes before any pattern runs
    text = _CONTROL.sub("", ANSI.sub("", text).replace("\r", " "))
    if (
        not text.isascii()
    ):  # half a character, as a name in another encoding holds it, cannot be written anywhere
        text = _HALF.sub("\ufffd", text)
    text = mask(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


_SECRET_KEY = LazyRegex(
    r"(?i)((?:api|wandb|access|account|shared|signing|encryption|master|private|auth|client)[_-]?key|secret|passw|passphrase"
    r"|token$|[_-]token\b|credential|cookie|authorization|webhook|(?:^|_)dsn$|connection[_-]?string)"
)
_NOT_SECRET = LazyRegex(
    r"(?i)^(?:\w{0,40}_)?(?:pad|eos|bos|unk|sep|cls|mask|image|video|audio|stop|start|end|special|prompt|vision|boi|eoi|boa|eoa"
    r"|decoder_start|forced_bos|forced_eos|use_auth|next|new|first|last|per|by)_token$"
)
"""Keys that hold the text of a token, not a key to anything."""

_SURELY_SECRET = LazyRegex(r"(?i)passw|secret|api[_-]?key|access[_-]?key|private[_-]?key")
"""Keys of which even a number is a secret."""


def mask_value(key: str, value: ConfigScalar, raw: str) -> tuple[ConfigScalar, str]:
    """Replace the value of a key that names a secret; token texts such as ``pad_token`` are no secrets."""
    tail = key.rpartition(".")[2]
    if value is None or isinstance(value, bool) or not _SECRET_KEY.search(tail) or _NOT_SECRET.search(tail):
        return value, raw
    return ("***", "***") if isinstance(value, str) or _SURELY_SECRET.search(tail) else (value, raw)


FIELDS: Mapping[str, Mapping[str, tuple[str, bool]]] = {
    "file": {"pieces": ("map", True), "kinds": ("list", True)},
    "kind": {"signs": ("list", True), "any": ("list", True)},
}
_FILE = Path(__file__).with_name("secrets.yaml")
_PIECE = LazyRegex(r"\$\{([A-Z_]{1,40})\}")


def read_secrets(file: MarkedFile) -> list[tuple[list[str], str]]:
    """Check a loaded file of secrets: of each kind its signs and its expression.

    Raises:
        RuleSyntaxError: It is not as declared; with line and column.
    """
    data = check_section(file, FIELDS, "file", file.data, ())
    pieces = {name: f"(?:{'|'.join(alternatives)})" for name, alternatives in data["pieces"].items()}
    kinds = [
        check_section(file, FIELDS, "kind", kind, ("kinds", place))
        for place, kind in enumerate(data["kinds"])
    ]
    whole = [_PIECE.sub(lambda match: pieces[match[1]], "|".join(kind["any"])) for kind in kinds]
    return [
        (kind["signs"], check_expression(file, text, "kinds", place))
        for place, (kind, text) in enumerate(zip(kinds, whole, strict=True))
    ]


@lru_cache(maxsize=1)
def _kinds() -> tuple[tuple[list[str], LazyRegex], ...]:
    found = cache.checked_file("secrets", _FILE, read_secrets, str(FIELDS))
    return tuple((signs, LazyRegex(expression)) for signs, expression in found)


# A line of a PEM block that stands alone, in quotes or behind a prefix: base64 of its usual width, in both cases and with digits; a hash has one case.
_BASE64_LINE = LazyRegex(
    r"(?m)(?:^|(?<=[\"'\s]))(?P<keep>\s{0,8})(?=\S{0,76}[A-Z])(?=\S{0,76}[a-z])(?=\S{0,76}\d)(?:[A-Za-z0-9+/]{64}|[A-Za-z0-9+/]{76}|[A-Za-z0-9+/]{70})(?=\s*$|[\"'])"
)


def _mask(match: re.Match[str]) -> str:
    groups = match.groupdict()
    return f"{groups.get('keep') or groups.get('keep2') or ''}***"


_ESCAPED_QUOTE = LazyRegex(r"\\{1,8}([\"'])")


def mask(text: str) -> str:
    r"""Text with three asterisks in the place of every secret; what names the secret stays.

    Text within text, such as a command in a JSON file, is looked at without its backslashes as well.

    >>> mask(r'"run": "login(key=\"correcthorsebattery\")"')
    '"run": "login(key="***")"'
    """
    text = _without_secrets(text)
    if "\\" in text:
        plain = _ESCAPED_QUOTE.sub(r"\1", text)
        shown = _without_secrets(plain)
        return text if shown == plain else shown
    return text


def _without_secrets(text: str) -> str:
    lower = text.lower()
    plain = text.isascii()  # a letter such as the long s is found by an expression, whatever its case
    for signs, secret in _kinds():
        if not plain or any(sign in lower for sign in signs):
            text = secret.sub(_mask, text)
    if len(text) >= 64:
        text = _BASE64_LINE.sub(_mask, text)
    return text
