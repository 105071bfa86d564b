"""How much rules, words and numbers count in the pool: fitted on labelled runs that neither knew (``classifier/pool.py``)."""

from __future__ import annotations

import json
from functools import lru_cache

from analyzer.record import NamedTuple
from analyzer.rules.causes import rules_root

FILE = "pool.json"


class Weights(NamedTuple):
    """Of the marks of an opinion, in the order of ``Opinion.marks``.

    Attributes:
        start: Log odds, in nats, of a cause against none of them where nothing speaks for or against it.
        rules: Nats for each bit of its log odds by rules.
        weighed: Nats for a rule that was weighed at all.
        words: Nats for a score of 1 by the words of the failure.
        numbers: Nats for a score of 1 by the course of the run.
    """

    start: float
    rules: float
    weighed: float
    words: float
    numbers: float


@lru_cache(maxsize=2)
def shipped_weights(asked: str) -> Weights:
    """The weights that come with analyzer for one kind of labelled runs: ``message.`` or ``likeness.``."""
    stored = json.loads((rules_root() / FILE).read_text(encoding="utf-8"))
    return Weights(**stored[asked])
