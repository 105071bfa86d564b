"""How programs write numbers: finite, NaN and infinite, in every spelling of the survey."""

from __future__ import annotations

from collections.abc import Mapping

NUMBER = (
    r"[-+]?(?:(?:\d[\d_]{0,319}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][-+]?\d{1,4})?"
    r"|(?:[nN][aA][nN]|[iI]nfinity|INFINITY|[iI][nN][fF])(?:\(ind\)|\.0)?|1\.#(?:IND|QNAN|INF)0{0,12})"
)
"""A number inside a regex, without thousands separators."""


_WORDS = {"nan": "nan", "inf": "inf", "infinity": "inf", "1.#ind": "nan", "1.#qnan": "nan", "1.#inf": "inf"}


_PLAIN = frozenset("0123456789")


def parse_number(text: str) -> float | None:
    """The value of a number as text, or None if it is none.

    >>> parse_number("1e-5"), parse_number("-1.#IND"), parse_number("INF"), parse_number("12ms"), parse_number("nan.0"), parse_number("1.#QNAN000")
    (1e-05, nan, inf, None, nan, nan)
    """
    if text[:1] in _PLAIN:
        try:
            return float(text)  # nearly always
        except ValueError:
            pass
    body = text.strip().replace("_", "").replace(",", "")
    sign = -1.0 if body.startswith("-") else 1.0
    spelt = body.lstrip("+-").lower().removesuffix("(ind)").removesuffix(".0")
    word = _WORDS.get(spelt.rstrip("0") if "#" in spelt else spelt)
    if word is not None:
        return float(word) if word == "nan" else sign * float(word)
    if not body[:1].isdigit() and body[:1] not in "+-.":
        return None  # float() takes words such as "infinity" only, but also digits of other scripts
    try:
        return float(body)
    except ValueError:
        return None


def step_of_total(row: Mapping[str, object]) -> int | None:
    """The step that ms-swift prints together with the last one.

    >>> step_of_total({"global_step/max_steps": "10/100"}), step_of_total({"steps": "3/4"})
    (10, None)
    """
    step, stroke, _ = str(row.get("global_step/max_steps")).partition("/")
    return int(step) if stroke and step.isdecimal() and len(step) < 16 else None
