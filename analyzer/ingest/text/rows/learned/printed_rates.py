"""Units behind a number, and rates that are printed with their unit for a name: ``9000 tok/s``, and ``tok/s 9000`` behind a number that has its own name."""

from __future__ import annotations

import re

from analyzer.ingest.text.rows.learned.line_masks import INT, NUMBER, TIME
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import is_score, names_memory, read_name

_RATE = r"(?: ?[kKM])? ?(?P<rate>(?!(?:[kcm]?m|deg|rad)/s)(?:[A-Za-z][\w-]{0,20} )?[A-Za-z]\w{0,20}/(?:s|sec|secs|second|seconds|it|iter|iteration|step|batch|example|sample|gpu|device)\b(?:/\w{1,8})?)(?!\s{0,2}[:=])"
RATED = LazyRegex(rf"(?P<value>{NUMBER}){_RATE}")
_UNIT = LazyRegex(
    r"(?: ?(?P<unit>ms|sec|secs|seconds|s|%|[KMGT]i?B|[Mm]b|TFLOPS|(?<= )(?:mins?|minutes|hours?|hrs?)(?=\s{0,3}(?:[|,;)\]]|$))|[kKMGBT](?! ?[=:]| [A-Za-z]\w{0,20} ?[=:\x01\x02]))(?![\w/%])| ?dB(?!\w)| (?:[kcm]?m(?:/s)?|px|deg|rad)(?=[ ,;|)]|$))?(?! ?%| ?#(?![A-Za-z#])|\.\d|[A-Za-z_](?![a-z_]{2,19} ?[:=]))"
)
BAR_RATE = LazyRegex(rf"{INT}/{INT} \[{TIME}")


def names_the_next(text: str, rated: re.Match[str]) -> bool:
    """Whether a rate is the name of the number behind it, because the number before it has one: ``loss 3.5 tok/s 9000``."""
    if _OWN_NUMBER.match(text, rated.end()) is None:
        return False
    ahead = _WORD_BEFORE.search(text[max(0, rated.start() - LONGEST_WORD) : rated.start()])
    return ahead is not None and bool(
        read_name(ahead["name"]).quantity or is_score(ahead["name"]) or names_memory(ahead["name"])
    )


def unit_after(text: str, end: int) -> str | None:
    """The unit after a number, None if what follows says that it is no plain number."""
    if text.startswith((".", ",", ";"), end) or end >= len(text):
        return "" if not text.startswith(".", end) or not text[end + 1 : end + 2].isdigit() else None
    if RATED.match(text, end - 1):
        return ""
    match = _UNIT.match(text, end)
    return None if match is None else (match["unit"] or "").replace("seconds", "s").replace("secs", "s").replace("sec", "s").replace("b", "B") if match["unit"] else ""  # fmt: skip


LONGEST_WORD = 40
"""Characters before a number in which the word is sought that names it."""
_OWN_NUMBER = LazyRegex(rf"\s{{1,3}}{NUMBER}(?! ?[A-Za-z]\w{{0,20}}/)")
"""Behind a rate, a number that no further rate claims."""
_WORD_BEFORE = LazyRegex(r"(?:^|[^\w/])(?P<name>[A-Za-z][\w/]*)\s{1,3}$")
