"""Numbers and words as loggers and configuration files write them. Not for finding them in free text."""

from __future__ import annotations

import json
import math
from typing import Any

from analyzer.lazy_regex import LazyRegex
from analyzer.model.config import ConfigScalar

MAX_STEP = 1 << 62
"""Steps beyond this are damage, not steps: 64-bit columns hold them, no run reaches them."""

# Microsoft's C runtime, and what str() of a tensor leaves in a cell.
_MSVC = LazyRegex(r"(?i)(?P<sign>[-+]?)(?:1\.#(?P<kind>INF|IND|QNAN|SNAN)\d*|(?P<word>nan)\((?:ind|snan)\))")
_TENSOR = LazyRegex(r"tensor\(\s{0,8}(?:\[\s{0,8})?(?P<value>[-+.\w]{1,64})")

_INTEGER = LazyRegex(r"[-+]?(?:0|[1-9][0-9]{0,60})")
_HEXADECIMAL = LazyRegex(r"[-+]?0x[0-9a-fA-F]{1,16}")
_FLOAT = LazyRegex(
    r"[-+]?(?:[0-9]{1,60}\.[0-9]{0,400}|\.[0-9]{1,400}|(?:0|[1-9][0-9]{0,60})(?=[eE]))(?:[eE][-+]?[0-9]{1,4})?"
)
_STRAY_UNDERSCORE = LazyRegex(r"(?<![0-9])_|_(?![0-9])")
_WORDS: dict[str, ConfigScalar] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
_WORDS.update(dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"), True))
_WORDS.update(dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"), False))


def metric_number(text: str) -> float | None:
    """A logged number, NaN and infinities included; None for a cell that holds no number (``NA``, ``None``, empty).

    >>> metric_number("1e-5"), metric_number("-1.#IND"), metric_number("Infinity"), metric_number("NA")
    (1e-05, nan, inf, None)
    """
    try:
        return float(text)
    except ValueError:
        pass
    text = text.strip()
    match = _MSVC.fullmatch(text)
    if match:
        if (match["kind"] or "").upper() == "INF":
            return -math.inf if match["sign"] == "-" else math.inf
        return math.nan
    match = _TENSOR.match(text)
    return metric_number(match["value"]) if match else None


def metric_value(value: object) -> float | None:
    """A decoded JSON value as a logged number; None for booleans, null, lists, objects and other text.

    Some writers put numbers in quotes (fairseq, transformers 5), and NaN travels as the text ``"NaN"``.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return value
    if isinstance(value, int):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    return metric_number(value) if isinstance(value, str) and len(value) <= 256 else None


def whole_step(value: object) -> int | None:
    """A decoded value as a step: a whole number within 64 bits, else None."""
    number = metric_value(value)
    if number is None or not math.isfinite(number) or abs(number) >= MAX_STEP or number != int(number):
        return None
    return value if isinstance(value, int) else int(number)


def config_scalar(text: str) -> ConfigScalar:
    """The value of an unquoted word in a configuration file.

    Our own rules, because YAML 1.1 reads ``1e-5`` as text, ``0755`` as 493 and ``12:30:00`` as 45000.
    Words for yes and no are booleans, as the frameworks' own loaders see them; NaN and infinity stay text.

    >>> [config_scalar(word) for word in ("1e-5", "0755", "12:30:00", "off", "1_000", "auto", "~")]
    [1e-05, '0755', '12:30:00', False, 1000, 'auto', None]
    """
    if text in _WORDS:
        return _WORDS[text]
    digits = text if _STRAY_UNDERSCORE.search(text) else text.replace("_", "")
    if _INTEGER.fullmatch(digits):
        return int(digits)
    if _HEXADECIMAL.fullmatch(digits):
        return int(digits, 16)
    if _FLOAT.fullmatch(digits):
        number = float(digits)
        return number if math.isfinite(number) else text
    return text


def json_object(text: bytes | str) -> dict[str, Any] | None:
    """A JSON object; None for anything else, however deep or large it may be.

    >>> json_object('{"loss": NaN}'), json_object("[1]"), json_object('{"loss": 2.')
    ({'loss': nan}, None, None)
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):  # ValueError: no JSON, no UTF-8, or a number of thousands of digits
        return None
    return found if isinstance(found, dict) else None
