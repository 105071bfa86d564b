"""Arguments of a run as programs dump them into a text file of their own.

batch_size=32                  ----------------- Options ---------------
learning_rate=0.001                           lr: 0.0002
Namespace(lr=0.1, epochs=3)    ----------------- End -------------------
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.scalar_text import config_scalar
from analyzer.ingest.source_text import read_text
from analyzer.lazy_regex import LazyRegex
from analyzer.vocabulary.config import canonical_key

MAX_BYTES = 1 << 20
"""Thousands of arguments."""

_NAMED = LazyRegex(
    r"(?i)(?:^|[/_.-])(?:args?|arguments?|opts?|options?|train_opt|test_opt|hparams?|hyper_?params?|params?|parameters|config|cfg|flags?|settings?)"
    r"(?:[_.-]\w{1,30})?\.(?:txt|log|cfg|conf|ini)$"
)
_PAIR = LazyRegex(
    r"^\s{0,80}-{0,2}(?P<key>[A-Za-z_][\w.-]{0,80})\s{0,60}[:=]\s{0,4}(?P<value>\S.{0,400}?)?\s{0,200}$"
)
_DEFAULT = LazyRegex(r"\s{1,40}\[default: .{0,200}\]$")
_NAMESPACE = LazyRegex(r"^\s{0,8}Namespace\((?P<inside>.{1,60000})\)\s{0,8}$")
_ARGUMENT = LazyRegex(
    r"(?P<key>[A-Za-z_]\w{0,80})=(?P<value>'[^']{0,400}'|\"[^\"]{0,400}\"|\[[^\]]{0,400}\]|[^,()]{0,400})(?:, |$)"
)

ENOUGH = 3
"""Pairs from which a file of such a name holds arguments."""


class ArgumentFile:
    """Reads a dump of arguments."""

    def sniff(self, candidate: Candidate) -> Match:
        """A file named for arguments, most of whose lines are pairs."""
        if (
            candidate.size_bytes > MAX_BYTES
            or not _NAMED.search(candidate.name)
            or b"\0" in candidate.head[:4096]
        ):
            return Match.NO
        lines = [
            line for line in candidate.head.decode("utf-8", "replace").splitlines()[:200] if line.strip()
        ]
        pairs = sum(_PAIR.match(line[:800]) is not None for line in lines)
        if any(_NAMESPACE.match(line) for line in lines[:5]):
            return Match.SURE
        return Match.SURE if pairs >= ENOUGH and pairs * 2 >= len(lines) else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Every pair becomes a setting."""
        for number, line in enumerate(read_text(source, out, MAX_BYTES).splitlines(), start=1):
            inside = _NAMESPACE.match(line)
            if inside:
                for argument in _ARGUMENT.finditer(inside["inside"]):
                    _setting(argument, number, out)
            elif (match := _PAIR.match(line[:800])) is not None:
                _setting(match, number, out)


def _setting(match: re.Match[str], number: int, out: SourceWriter) -> None:
    raw = _DEFAULT.sub("", match["value"] or "").strip()
    quoted = len(raw) > 1 and raw[0] == raw[-1] and raw[0] in "'\""
    out.config(
        match["key"],
        config_scalar(raw[1:-1] if quoted else raw),
        framework="config",
        layer="runtime_echo",
        line=number,
        raw=raw,
    )


# An option, or a Hydra override: "--key", "--key=value", "-key", "key=value", "++key=value".
_FLAG = LazyRegex(
    r"(?s)--?(?P<key>[A-Za-z][\w./-]{0,99})(?:=(?P<value>.*))?"
    r"|\+{0,2}(?P<override>[A-Za-z_][\w./-]{0,99})=(?P<override_value>.*)"
)


def command_line(args: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Keys and values of a command line; the value is None for a flag without one.

    >>> list(command_line(["--stage", "sft", "--bf16", "-lr=1e-4", "--use-flash-attn", "+optim.name=adam"]))
    [('stage', 'sft'), ('bf16', None), ('lr', '1e-4'), ('use_flash_attn', None), ('optim.name', 'adam')]
    """
    key, words = "", list[str]()
    for arg in args:
        flag = _FLAG.fullmatch(arg)
        if flag is None:
            words.append(arg)
            continue
        if key:
            yield key, " ".join(words) if words else None
        key = flag["key"] or flag["override"]
        if canonical_key("config", key) is None:
            key = key.replace("-", "_")
        value = flag["value"] if flag["key"] else flag["override_value"]
        words = [] if value is None else [value]
    if key:
        yield key, " ".join(words) if words else None
