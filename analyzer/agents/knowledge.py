"""What the catalogue and the rules know: searched by words, by a pasted log line, and one cause as a page."""

from __future__ import annotations

import re
from collections.abc import Iterable

from analyzer.errors import InputError
from analyzer.rules.causes import CauseEntry, catalogue
from analyzer.rules.docs import rule_page
from analyzer.rules.load import RuleSet
from analyzer.rules.schema import Rule
from analyzer.rules.search import readings

FOUND = 12
"""Most causes listed for one query; a more exact query finds the rest."""

_WORD = re.compile(r"[a-z0-9_]{2,40}")
_FREQUENT = frozenset(
    {"the", "and", "of", "is", "in", "to", "a", "an", "my", "why", "does", "with", "on", "at", "it", "training", "run", "error"}
)  # fmt: skip


def search(words: str, rules: RuleSet) -> str:
    """Causes that mention the words, the best match first, one per line."""
    wanted = {word for word in _words(words) if word not in _FREQUENT} or _words(words)
    by_cause: dict[str, list[Rule]] = {}
    for rule in rules.rules:
        by_cause.setdefault(rule.entry.id, []).append(rule)
    scored = [(_score(wanted, entry, by_cause.get(entry.id, ())), entry) for entry in catalogue().values()]
    best = sorted(
        ((score, entry) for score, entry in scored if score), key=lambda item: (-item[0], item[1].id)
    )
    if not best:
        return f"no cause of {len(scored)} speaks of {', '.join(sorted(wanted))}\n"
    rows = [
        f"{entry.id} ({entry.kind}): {entry.title}"
        + ("" if entry.id in by_cause else "  [no rule looks for it]")
        for _, entry in best[:FOUND]
    ]
    more = f"and {len(best) - FOUND} weaker matches; name more words\n" if len(best) > FOUND else ""
    return "\n".join(rows) + f"\n{more}one of them in full: resource analyzer://causes/ID\n"


def _score(wanted: set[str], entry: CauseEntry, rules: Iterable[Rule]) -> int:
    """Number of words found; one in the title or the id counts three times as much as one in the long text."""
    title = _words(f"{entry.id.replace('-', ' ')} {entry.title}")
    text = _words(" ".join([f"{rule.title} {rule.text} {rule.says}" for rule in rules]))
    return sum(3 if _holds(title, word) else 1 if _holds(text, word) else 0 for word in wanted)


def _holds(words: set[str], wanted: str) -> bool:
    """Whether a word is among others, or begins one of them: "overflow" finds "overflows"."""
    return wanted in words or (len(wanted) > 3 and any(word.startswith(wanted) for word in words))


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def rules_for(line: str, rules: RuleSet) -> str:
    """What a pasted log line is read as, and which causes look at such a line."""
    found = readings(line, rules.rules)
    if not found:
        return "not a line that analyzer knows: it counts for no cause; the causes may still be searched by words\n"
    rows = []
    for reading in found:
        rows.append(f"read as {reading.kind} ({reading.role})")
        rows += [f"  {rule.entry.id} [{rule.id}]: {rule.entry.title}" for rule in reading.rules]
        if not reading.rules:
            rows.append("  no rule looks at such a line")
    return "\n".join(rows) + "\n"


def cause_page(word: str, rules: RuleSet) -> str:
    """One cause: its entry of the catalogue and the pages of its rules.

    Raises:
        InputError: No cause or rule is called so.
    """
    chosen = [rule for rule in rules.rules if word in {rule.id, rule.slug, rule.entry.id}]
    entry = catalogue().get(word) or (chosen[0].entry if chosen else None)
    if entry is None:
        raise InputError(f"no cause is called {word!r}; search the knowledge by words")
    alike = ", ".join(entry.look_alikes) or "none"
    head = f"{entry.id} ({entry.kind}, family {entry.family}): {entry.title}\nlooks like: {alike}\n"
    return "\n".join([head, *(rule_page(rule, []) for rule in chosen)])
