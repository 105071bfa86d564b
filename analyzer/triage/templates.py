"""The lasting part of a log line: what remains when numbers, addresses, paths and names of hosts are masked.

Our own masks and not drain3: its tree depends on the order in which lines come, so two engines would disagree; and
not scikit-learn, whose import costs a second. What is masked here differs between two runs with the same fault.
"""

from __future__ import annotations

import hashlib
import re

MAX_TEMPLATE = 240
"""Characters of a template; the head of a message is what two failures of one cause share."""

_LEADING = re.compile(
    r"^(?:\[(?:rank|default)?\s?\d{1,6}\]:?\s*)?"
    r"(?:[\[(]?\d{4}[-/.]\d{2}[-/.]\d{2}[T ,]\d{2}:\d{2}:\d{2}(?:[.,]\d{1,9})?(?:Z|[+-]\d{2}:?\d{2})?[\])]?[\s:,|-]*)?"
)
_MASKS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\b[a-z][a-z0-9+.-]{1,10}://[^\s'\"<>]+"), "<url>"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b"), "<address>"),
    (re.compile(r"\b\d{4}[-/.]\d{2}[-/.]\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?)?\b|\b\d{2}:\d{2}:\d{2}(?:[.,]\d+)?\b"), "<time>"),
    (re.compile(r"(?<![\w.])(?:/[\w.@+=~-]+){2,}/?"), "<path>"),
    (re.compile(r"\b0x[0-9a-f]+\b", re.IGNORECASE), "<n>"),
    (re.compile(r"(?i)\b(?:[a-z0-9]{1,20}-){0,3}(?:node|host|dgx|hgx|nid|ip|compute|cn)[-_]?\d[\w.-]{0,60}"), "<host>"),
    (re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b"), "<id>"),
    (re.compile(r"[-+]?(?<![A-Za-z])\d+(?:[.,]\d+)*(?:e[-+]?\d+)?", re.IGNORECASE), "<n>"),
)  # fmt: skip
_SPACE = re.compile(r"\s+")
_RUNS_OF_N = re.compile(r"<n>(?:[\s,;/x:]{1,3}<n>)+")


def template_of(text: str) -> str:
    """The lasting part of a line.

    >>> template_of("2026-01-02 03:04:05,678 rank 3: CUDA error at /opt/x/y.cu:77, 0x7f12")
    'rank <n>: CUDA error at <path>:<n>'
    >>> template_of("[rank5]: ValueError: shard 00123 of 400 is empty on node-17")
    'ValueError: shard <n> of <n> is empty on <host>'
    """
    text = _LEADING.sub("", text.strip()[: 4 * MAX_TEMPLATE], count=1)
    for pattern, word in _MASKS:
        text = pattern.sub(word, text)
    text = _RUNS_OF_N.sub("<n>", _SPACE.sub(" ", text)).strip()
    return text[:MAX_TEMPLATE]


_WORD = re.compile(r"(?<![<\w])[A-Za-z]{3,}(?![>\w])")


def says_something(text: str) -> bool:
    """Whether at least two different words remain of a line: a row of numbers or of dots tells no failures apart.

    >>> says_something("0.97, 0.37, 1e-4"), says_something("KeyError: 'labels'"), says_something("size ........ 32")
    (False, True, False)
    """
    return len(set(_WORD.findall(template_of(text)))) > 1


def fingerprint_of(cause: str, evidence: str) -> str:
    """Id that all runs with one root failure share: the cause and the lasting part of the line that shows it.

    >>> fingerprint_of("cuda-oom", "rank 3: tried 20 MiB") == fingerprint_of("cuda-oom", "rank 9: tried 512 MiB")
    True
    """
    return hashlib.sha256(f"{cause}\0{template_of(evidence).lower()}".encode()).hexdigest()[:12]
