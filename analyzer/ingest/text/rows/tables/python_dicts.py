"""Python dicts of numbers as ``print`` shows them, the form in which many trainers write their rows.

    {'loss': 1.5303, 'grad_norm': nan, 'learning_rate': 6.4e-05, 'epoch': 0.02}
    {'loss': '1.53', 'grad_norm': 'nan'}
    {'loss': tensor(2.5, device='cuda:0'), 'train/loss': Infinity}

Only flat dicts of plain numbers are read; nothing is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from sys import intern

from analyzer.ingest.text.rows.printed_numbers import parse_number, step_of_total
from analyzer.lazy_regex import LazyRegex

_DICT = LazyRegex(r"(?<!': )\{'[^{}\n]{1,20000}\}")
_ITEM = LazyRegex(r"'([^'\n]{1,120})': (?:'([^'\n]{0,40})'|(?:tensor\()?([^,'}\s\[\]()]{1,40}))")


def find_dicts(text: str) -> Iterator[re.Match[str]]:
    """Every flat dict in a text."""
    return _DICT.finditer(text)


def parse_dict(text: str) -> dict[str, float]:
    """Numbers of a printed dict; entries that are no numbers are left out.

    >>> parse_dict("{'loss': '1.23', 'grad_norm': nan, 'note': 'x', 'epoch': 0.1}")
    {'loss': 1.23, 'grad_norm': nan, 'epoch': 0.1}
    >>> parse_dict("{'loss': 1.23, 'global_step/max_steps': '10/100', 'seen': '3/4'}")
    {'loss': 1.23, 'global_step': 10}
    """
    values: dict[str, float] = {}
    for name, quoted, bare in _ITEM.findall(text):
        number = parse_number(quoted or bare)
        if number is None and (step := step_of_total({name: quoted})) is not None:
            values["global_step"] = step
        if number is not None:
            values[intern(name)] = number  # rows are kept, and share their names
    return values
