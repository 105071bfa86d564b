"""Every regular expression that sees foreign text takes time in proportion to the text, whoever wrote it.

For each repeat of each expression a line is made that reaches it, feeds it, and then fails: the line that backtracking
likes least. The longer line is 16 times as long: what grows with the line takes 16 times as long on it, what grows with its
square 256 times; 64 lies as far from one as from the other, so the clock of a busy machine may be wrong by four on either
side. ANALYZER_LONG_TESTS=1 asks with longer lines and more of them. Records of a log are cut at 64 KiB, so no line is longer.
"""

import importlib
import os
import pkgutil
import re
import time
from functools import cache
from pathlib import Path

import pytest

try:
    from re import _constants as sre
    from re import _parser as parser
except ImportError:  # pragma: no cover
    import sre_constants as sre
    import sre_parse as parser

import analyzer
from analyzer.ingest.masking import _kinds
from analyzer.ingest.text.log_reader import all_patterns
from analyzer.ingest.text.rows.forms.row_form import block_forms, row_forms
from analyzer.ingest.text.setup.banners import banners
from analyzer.lazy_regex import LazyRegex
from analyzer.vocabulary.expressions import expressions as expressions_of
from analyzer.vocabulary.known_names import LISTS, known_names

LONG = bool(os.environ.get("ANALYZER_LONG_TESTS"))
SMALL, LARGE, ATTACKS = (4_000, 64_000, 60) if LONG else (2_000, 32_000, 6)
FREE_S = 0.004
"""Below this on a line of four times the short one nothing explodes, and the clock is noise."""

NOISE = 4
"""How often the time may be that of the shorter line beyond what its length explains."""

MOST_S = 1.0
"""No line may take longer than this however its time grows; a record of 64 KiB that takes a second is an attack."""

_UNREACHED = ("analyzer.cli", "analyzer.classifier", "analyzer.replay.", "analyzer.fetch.worker")
_CLASS = {
    sre.CATEGORY_DIGIT: "07",
    sre.CATEGORY_SPACE: " ",
    sre.CATEGORY_WORD: "a0_",
    sre.CATEGORY_NOT_DIGIT: "a .",
    sre.CATEGORY_NOT_SPACE: "a0.",
    sre.CATEGORY_NOT_WORD: " .",
}


@cache
def expressions():
    """Every expression of the package by where it stands."""
    found = {}
    for info in pkgutil.walk_packages(analyzer.__path__, "analyzer."):
        if info.name.startswith(_UNREACHED) or info.name.endswith("__main__"):
            continue
        try:
            module = importlib.import_module(info.name)
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("analyzer"):
                raise
            continue  # of an extra that is not installed here
        for name, value in vars(module).items():
            for number, one in enumerate(_patterns_in(value, 0)):
                found.setdefault(one, f"{info.name}.{name}[{number}]")
    for pattern in all_patterns():
        for one in (pattern.regex, pattern.unless, *pattern.more):
            if one:
                found.setdefault(one, f"events {pattern.kind}")
    for form in row_forms():
        found.setdefault(form.head.pattern, f"head of {form.name}")
        found.setdefault(form.pair.pattern, f"pair of {form.name}")
    for banner in banners():
        found.setdefault(banner.regex.pattern, f"banner {banner.key}")
    for signs, secret in _kinds():
        found.setdefault(secret.pattern, f"secret {signs[0]}")
    for path in sorted(Path(analyzer.__file__).parent.glob("**/failures/*.yaml")):
        for name, expression in expressions_of(path).items():
            found.setdefault(expression.pattern, f"{path.name} {name}")
    for name in LISTS:
        for told, regex in known_names(name):
            found.setdefault(regex.pattern, f"{name} {told}")
    for form in block_forms():
        for regex in filter(None, (form.head, form.row, form.end)):
            found.setdefault(regex.pattern, f"block {form.name}")
    return sorted(((where, text) for text, where in found.items()), key=str)


def _patterns_in(value, depth):
    if isinstance(value, LazyRegex):
        yield value.pattern
    elif isinstance(value, re.Pattern):
        case = value.flags & re.IGNORECASE and not _text(value.pattern).startswith("(?")
        as_bytes = isinstance(value.pattern, bytes)
        yield value.pattern if not case else (b"(?i)" + value.pattern if as_bytes else f"(?i){value.pattern}")
    elif depth < 3:
        if isinstance(value, dict):
            value = tuple(value.values())
        if isinstance(value, tuple | list | frozenset) and len(value) < 2000:
            for item in value:
                yield from _patterns_in(item, depth + 1)
        elif getattr(value, "__slots__", None) and not isinstance(value, type):
            for name in value.__slots__:
                yield from _patterns_in(getattr(value, name, None), depth + 1)


def _text(pattern):
    return pattern if isinstance(pattern, str) else pattern.decode("latin-1")


def _samples(items):
    """Characters of a set, a few that differ in kind."""
    if items and items[0][0] is sre.NEGATE:
        refused = "".join(_samples(items[1:]))
        return [c for c in "a 0.=_-%|[(" if c not in refused][:3] or ["~"]
    found = []
    for kind, value in items:
        if kind is sre.LITERAL:
            found.append(chr(value))
        elif kind is sre.RANGE:
            found.append(chr(value[0]))
        elif kind is sre.CATEGORY:
            found.extend(_CLASS.get(value, "a"))
    return sorted(set(found), key=lambda c: (c not in " .a0", c))[:4]


def _least(node):
    """A short text that a parsed expression matches."""
    parts = []
    for kind, value in node:
        if kind is sre.LITERAL:
            parts.append(chr(value))
        elif kind is sre.NOT_LITERAL:
            parts.append("a" if value != ord("a") else "b")
        elif kind is sre.ANY:
            parts.append("a")
        elif kind is sre.IN:
            parts.append(_samples(value)[0])
        elif kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            parts.append(_least(value[2]) * value[0])
        elif kind is sre.SUBPATTERN:
            parts.append(_least(value[3]))
        elif kind is sre.ATOMIC_GROUP:
            parts.append(_least(value))
        elif kind is sre.BRANCH:
            parts.append(_least(value[1][0]))
    return "".join(parts)


def _attacks(node, before=""):
    """(text that leads to a repeat, text that feeds it) for every repeat of more than a few."""
    for at, (kind, value) in enumerate(node):
        lead = before + _least(node[:at])
        if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            inner = list(value[2])
            if value[1] > 8:
                single = inner[0] if len(inner) == 1 else None
                fed = _samples(single[1]) if single and single[0] is sre.IN else [_least(inner)]
                if single and single[0] is sre.ANY:
                    fed = ["a", " ", "0", "."]
                rest = _least(node[at + 1 :])
                for pump in [*fed, _least(inner) + rest[:8]]:
                    if pump:
                        yield lead, pump
            yield from _attacks(inner, lead)
        elif kind is sre.SUBPATTERN:
            yield from _attacks(list(value[3]), lead)
        elif kind is sre.BRANCH:
            for branch in value[1]:
                yield from _attacks(list(branch), lead)
        elif kind is sre.ATOMIC_GROUP:
            yield from _attacks(list(value), lead)


def attacks(pattern):
    """Different attacks on one expression, and a plain row of each character that it may begin with."""
    node = list(parser.parse(pattern))
    found = dict.fromkeys(_attacks(node))
    found.update(dict.fromkeys(("", pump) for pump in (" ", "a", "0", ".", "a ", "a=", "0 ")))
    return list(found)[:ATTACKS]


def _line(lead, pump, size):
    return (lead + pump * (size // len(pump)))[:size] + "\x01"


def _once(search, text):
    began = time.process_time()
    search(text)
    return time.process_time() - began


def _seconds(search, text):
    """The better of two, unless that takes long."""
    first = _once(search, text)
    return first if first > 1 else min(first, _once(search, text))


def explosions(pattern, small=SMALL, large=LARGE):
    """Lines on which the time of an expression grows faster than the line."""
    as_bytes = isinstance(pattern, bytes)
    search = re.compile(pattern).search
    for lead, pump in attacks(_text(pattern)):
        little, much = _line(lead, pump, small), _line(lead, pump, large)
        if as_bytes:
            little, much = little.encode("latin-1", "replace"), much.encode("latin-1", "replace")
        before, between = _once(search, little), _once(search, much[: 4 * small] + much[-1:])
        if between > 0.1 and between > 10 * before:  # to the square at least; on 64 kB it would take minutes
            yield lead, pump, before, float("inf")
            continue
        if between <= FREE_S:
            continue
        before, after = _seconds(search, little), _seconds(search, much)
        if after > MOST_S or after > before * NOISE * large / small:
            yield lead, pump, before, after


def _slices():
    found = expressions()
    return [found[start::16] for start in range(16)]


@pytest.mark.parametrize("part", range(16))
def test_no_expression_explodes(part):
    bad = []
    for where, pattern in _slices()[part]:
        for lead, pump, before, after in explosions(pattern):
            bad.append(
                f"{where}: {lead[-40:]!r} + {pump!r} * n: {before * 1e3:.2f} ms, {after * 1e3:.1f} ms\n  {pattern!r}"
            )
    assert not bad, "\n".join(bad)


def test_the_test_finds_what_explodes():
    # To the cube and to the square: far beyond what the clock of a fast or a busy machine may blur.
    assert next(explosions(r"x\s*\s*\s*y", 100, 1_600), None)
    assert next(explosions(r"x\s*\s*y"), None)
    assert not list(explosions(r"^\s{0,40}key=[a-z]{1,20}"))
