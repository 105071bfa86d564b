"""How many words of a masked line belong to no pair of name and number: a row has few, a sentence has many."""

from __future__ import annotations

from analyzer.ingest.text.rows.learned.line_fields import Field
from analyzer.ingest.text.rows.learned.line_masks import FLOAT, INT, TIME
from analyzer.ingest.text.rows.learned.line_places import Place
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import word_set

WORD = LazyRegex(r"[A-Za-z][A-Za-z_]+")
_MEANS = word_set("average avg mean running")
_PATHS = LazyRegex(r"(?<!\w)(?:/[\w.@+-]{1,80}){2,20}/?")
_OF_PRINTING = LazyRegex(
    rf"\[(?:'[A-Za-z_]{{1,30}}',? ?){{1,20}}\]|\b(?:tensor|array)\(|, ?(?:device|dtype|grad_fn|requires_grad)=[^,)]{{1,60}}|\b(?:INFO|DEBUG)\b"
    rf"|\A\[\w{{1,30}}=[^\]{INT}{FLOAT}{TIME}]{{1,160}}\]"
    rf"|(?<=[,;|(\[])\s{{0,3}}[{INT}{FLOAT}] ?[A-Za-z]{{1,9}}/[A-Za-z]{{1,9}}\b"
)
"""What a logger, the text of a tensor and a list of classes put around words and numbers; and rates, whose units are no words."""
_OTHER_PAIR = LazyRegex(
    rf"[\w/.@()-]{{1,60}}[\"'\]\u2019\u201d]?(?: (?:is|are|was)\b)?\s{{0,3}}[:=-]?[\s(\[]{{0,4}}[{INT}{FLOAT}{TIME}](?:\[\w{{1,8}}\]|[\w%/]{{0,12}})(?: [A-Za-z]{{1,9}}/\w{{1,9}}| (?:s|secs?|seconds|mins?|minutes|ms|hours?)\b)?"
)


def other_words(text: str, place: Place, fields: list[Field] | None = None) -> int:
    """Words of a line that belong to no pair of name and number."""
    text = _OF_PRINTING.sub("", _PATHS.sub("", text))
    position, between = 0, list[str]()
    for match in _OTHER_PAIR.finditer(text):
        between.append(text[position : match.start()])
        position = match.end()
    words = WORD.findall(" | ".join([*between, text[position:]]))
    count = sum(word.lower() not in _MEANS for word in words)
    of_names = sum(found.more for found in fields or ())
    return max(0, count - of_names) if place or fields else count
