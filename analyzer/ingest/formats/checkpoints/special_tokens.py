"""What the tokenizer files of one directory say together about special tokens and the chat template.

One file alone does not tell: ids stand in ``tokenizer.json``, the roles (bos, eos, pad) in
``tokenizer_config.json``, and the template in either of two further places.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeGuard

from analyzer.ingest.encodings import bounded_json
from analyzer.lazy_regex import LazyRegex
from analyzer.record import dataclass, field

MAX_TOKENIZER_BYTES = 64 << 20
"""The largest public tokenizer.json has 34 MB (Gemma)."""

MAX_SPECIAL_TOKENS = 10_000
"""Special tokens kept of one tokenizer; the largest public one has 6,000."""

MAX_TEMPLATE = 50_000
"""Characters kept of a chat template; the longest public ones have 20,000."""

ROLES = ("bos_token", "eos_token", "unk_token", "pad_token")
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")
TEMPLATE_FILES = ("chat_template.jinja", "chat_template.json")

_MARKER = LazyRegex(r"<\|[\w-]{1,60}\|>")
_PLACEHOLDER = LazyRegex(
    r"(?i)reserved|unused|extra_id|placeholder|dummy|fim_|[<_-]pad[>_-]|mask|\bsep\b|\bcls\b"
)


@dataclass
class SpecialTokens:
    """Special tokens of one tokenizer."""

    # token id to text, for tokens that are marked special
    text_of: dict[int, str] = field(default_factory=dict)
    # ``bos_token`` and so on to the token's text; a role that is stated as null maps to None
    roles: dict[str, str | None] = field(default_factory=dict)
    listed: set[str] = field(default_factory=set)  # texts of further special tokens, listed without an id
    template: str = ""  # the chat template, empty if there is none
    vocab_size: int | None = None  # largest id plus one, None if no file lists the vocabulary
    # files that were there and could not be read, with the reason
    unread: dict[str, str] = field(default_factory=dict)

    def bound(self) -> None:
        """Cut what no real tokenizer reaches."""
        if len(self.text_of) > MAX_SPECIAL_TOKENS:
            self.text_of = dict(sorted(self.text_of.items())[:MAX_SPECIAL_TOKENS])
        if len(self.listed) > MAX_SPECIAL_TOKENS:
            self.listed = set(sorted(self.listed)[:MAX_SPECIAL_TOKENS])
        self.template = self.template[:MAX_TEMPLATE]

    def added(self) -> frozenset[str]:
        """Texts of special tokens that have none of the four roles."""
        return frozenset({*self.text_of.values(), *self.listed}) - frozenset(
            filter(None, self.roles.values())
        )

    def in_template(self) -> frozenset[str]:
        """Special tokens that the chat template writes out; empty without a template."""
        known = {*self.text_of.values(), *self.listed, *filter(None, self.roles.values())}
        return frozenset(text for text in known if text and text in self.template) | frozenset(
            _MARKER.findall(self.template)
        )

    def rows_to_measure(self) -> Mapping[int, str]:
        """Ids and texts of the special tokens whose embedding matters when the model is trained on chats.

        Those are the tokens that the template writes, and eos; without a template, every added token.
        Reserved and unused ones are left out: they are untrained in healthy models too. So are pad, unk and
        bos, which are often zero on purpose or never looked up, unless the template writes them.
        """
        used = self.in_template()
        eos = self.roles.get("eos_token")
        unwanted = {self.roles.get(role) for role in ("bos_token", "unk_token", "pad_token")} - {eos} - used
        chosen = used or self.added()
        return {
            token: text
            for token, text in sorted(self.text_of.items())
            if text not in unwanted
            and (text == eos or (text in chosen and (used or not _PLACEHOLDER.search(text))))
        }


def read_special_tokens(directory: Path, root: Path) -> SpecialTokens:
    """Read the tokenizer files of a directory.

    Args:
        directory: Where the files are.
        root: The run's directory; a link that leads out of it is not followed.
    """
    tokens = SpecialTokens()
    for name in (*TOKENIZER_FILES, *TEMPLATE_FILES):
        path = directory / name
        try:
            if not path.is_file() or not path.resolve().is_relative_to(root.resolve()):
                continue
            stat = path.stat()
            if stat.st_size > MAX_TOKENIZER_BYTES:
                tokens.unread[name] = f"larger than {MAX_TOKENIZER_BYTES} bytes"
                continue
            take_file(tokens, name, _decoded(path, stat.st_size, stat.st_mtime_ns))
            tokens.bound()
        except (OSError, ValueError, RecursionError) as error:
            tokens.unread[name] = str(error) or type(error).__name__
    return tokens


@lru_cache(maxsize=8)
def _decoded(path: Path, _size_bytes: int, _modified_ns: int) -> Any:
    """A file's content, kept because the tokenizer's and the checkpoint's reader both ask for it."""
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    return text if path.suffix == ".jinja" else _digest(bounded_json.loads(text))


def _digest(content: Any) -> Any:
    """``tokenizer.json`` without its vocabulary and merges, which take hundreds of megabytes decoded."""
    if not isinstance(content, dict) or not isinstance(content.get("model"), dict):
        return content
    vocabulary = content["model"].get("vocab")
    size = 0
    if isinstance(vocabulary, dict):
        size = max((index for index in vocabulary.values() if isinstance(index, int)), default=-1) + 1
    elif isinstance(vocabulary, list):
        size = len(vocabulary)
    return {"added_tokens": content.get("added_tokens"), "vocab_size": size}


def take_file(tokens: SpecialTokens, name: str, content: Any) -> None:
    """Add what one file says; ``content`` is its decoded JSON, digested if it is ``tokenizer.json``."""
    if name == "chat_template.jinja":
        tokens.template = str(content)
    if not isinstance(content, dict):
        return
    if name == "chat_template.json":
        tokens.template = template_text(content.get("chat_template")) or tokens.template
    elif name == "added_tokens.json":
        tokens.text_of.update(
            {index: text for text, index in content.items() if _is_id(index) and _looks_special(text)}
        )
    elif name == "tokenizer.json":
        _take_tokenizer(tokens, content)
    else:
        _take_settings(tokens, content)


def _take_tokenizer(tokens: SpecialTokens, content: dict[str, Any]) -> None:
    size = int(content.get("vocab_size") or 0)
    for entry in _objects(content.get("added_tokens")):
        index, text = entry.get("id"), entry.get("content")
        if not _is_id(index) or not isinstance(text, str):
            continue
        size = max(size, index + 1)
        if entry.get("special") is True:
            tokens.text_of[index] = text
    tokens.vocab_size = size or None


def _take_settings(tokens: SpecialTokens, content: dict[str, Any]) -> None:
    for role in ROLES:
        if role in content:
            tokens.roles[role] = token_text(content[role])
    decoder = content.get("added_tokens_decoder")
    for index, entry in decoder.items() if isinstance(decoder, dict) else ():
        text = token_text(entry)
        if index.isascii() and index.isdigit() and len(index) < 10 and text and entry.get("special") is True:
            tokens.text_of[int(index)] = text
    for key in ("additional_special_tokens", "extra_special_tokens"):
        listed = content.get(key)
        entries = listed.values() if isinstance(listed, dict) else listed if isinstance(listed, list) else ()
        tokens.listed.update(filter(None, map(token_text, entries)))
    tokens.template = template_text(content.get("chat_template")) or tokens.template


def token_text(entry: Any) -> str | None:
    """The text of a token that is written as text or as an object with ``content``."""
    text = entry.get("content") if isinstance(entry, dict) else entry
    return text if isinstance(text, str) else None


def template_text(entry: Any) -> str:
    """A chat template, or all of a list of named ones, as one text; empty if there is none."""
    if isinstance(entry, str):
        return entry
    named = [one.get("template") for one in _objects(entry)]
    return "\n".join(text for text in named if isinstance(text, str))


def _objects(entry: Any) -> Iterator[dict[str, Any]]:
    return (one for one in entry if isinstance(one, dict)) if isinstance(entry, list) else iter(())


def _is_id(index: Any) -> TypeGuard[int]:
    return isinstance(index, int) and not isinstance(index, bool) and 0 <= index < 1 << 31


def _looks_special(text: str) -> bool:
    """``added_tokens.json`` does not say which tokens are special; those are written in brackets."""
    return len(text) > 2 and text[0] in "<[" and text[-1] in ">]"
