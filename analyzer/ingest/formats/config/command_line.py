"""The words of a command line as settings: ``--lr 1e-4``, ``--bf16``, ``optim.name=adam``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.lazy_regex import LazyRegex
from analyzer.vocabulary.config import canonical_key

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
