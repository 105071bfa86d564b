"""Make text of a log safe to show: no control characters, no secrets, bounded length."""

from __future__ import annotations

import re

MAX_TEXT = 2048
"""Characters kept of one event's text; enough for every message of the survey."""

# ESC sequences (CSI, OSC, two-byte) and the orphan form "[31m" whose ESC was lost on the way.
ANSI = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]{0,512}(?:\x07|\x1b\\)|\x1b[@-Z\\-_]|\[(?:\d{1,3};?){1,4}m"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")

_HALF = re.compile(r"[\ud800-\udfff]")

_SECRETS = re.compile(
    r"(?P<token>\b(?:hf_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|sk-[\w-]{16,}"
    r"|xox[abpr]-[\w-]{10,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|wandb_v1_[\w-]{16,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,}))"
    r"|(?P<url>://[^/\s:@]{1,128}:)[^/\s@]{1,256}(?=@)"
    r"|(?P<query>[?&](?:X-Amz-Signature|X-Amz-Credential|X-Amz-Security-Token|Signature|sig|token|apiKey|api_key|access_token)=)[^&\s\"']+"
    r"|(?P<key>(?i:\b\w{0,40}(?:api[_-]?key|wandb[_-]?key|secret|passw(?:or)?d|passphrase|credential|auth[_-]?token|access[_-]?token|hub[_-]?token|private[_-]?key)\w{0,20}"
    r"[\"']?\s{0,4}[:=]\s{0,4}[\"']?))(?!None\b|null\b|<|\*{3})[^\s\"',;}]{4,}"
    r"|(?P<login>(?i:\bwandb\s+login\s+(?:--\w[\w-]{0,30}\s+){0,4}))[\w-]{16,}"
    r"|(?P<bearer>(?i:\b(?:bearer|basic)\s+))[A-Za-z0-9._~+/=-]{12,}"
    r"|(?P<mail>\b[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}\b)"
)


# In lower case; whatever ``_SECRETS`` finds in plain ASCII holds one of these. A look for them is 20 times faster.
_SIGNS_OF_SECRETS = (
    "key", "token", "secret", "passw", "passphrase", "credential", "sig", "wandb", "bearer", "basic", "://", "@",
    "hf_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "sk-", "xox", "akia", "aiza", "eyj",
)  # fmt: skip


def _may_hold_secret(text: str) -> bool:
    if not text.isascii():  # a letter such as the long s is found by the expression, whatever its case
        return True
    lower = text.lower()
    return any(sign in lower for sign in _SIGNS_OF_SECRETS)


def _mask(match: re.Match[str]) -> str:
    for group in ("url", "query", "key", "login", "bearer"):
        if match.group(group) is not None:
            return f"{match.group(group)}***"
    return "***"


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
    if _may_hold_secret(text):
        text = _SECRETS.sub(_mask, text)
    return text if len(text) <= limit else text[: limit - 1] + "…"
