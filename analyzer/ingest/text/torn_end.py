r"""A log that was cut inside of a number ends with another number: its last record is held against those before it.

``loss 2.41`` may be what is left of ``loss 2.4135`` or ``step 10`` of ``step 1000 loss nan``. A file whose last line has no line
break was cut, or its writer never breaks the last one; which of them shows in the records of the same wording above. So does whether it stops within a row.
"""

from __future__ import annotations

import re

_NUMBER = re.compile(rb"[-+]?\d[\d.]{0,40}(?:[eE][-+]?\d{0,4})?")
_AT_END = re.compile(rb"(?<![\w.])[-+]?\d[\d.]{0,40}(?:[eE][-+]?\d{0,4})?$")
_BREAKS = re.compile(rb"[\r\n]{1,64}")

LONGEST = 4_096
"""Bytes of a record that is looked at; a row of metrics has some hundred."""

BEFORE_BYTES = 32_768
"""Bytes before it in which a record of the same wording is looked for: a hundred rows, or some among much else."""


def without_torn_number(last: bytes, before: bytes) -> bytes:
    r"""The last record of a log that ends without a line break, without a number at its end that may be a piece.

    >>> without_torn_number(b"step 30 loss 2.4", b"step 10 loss 3.1417\nstep 20 loss 2.7182\n")
    b'step 30 loss '
    >>> without_torn_number(b"step 30 loss 2.4135", b"step 10 loss 3.1417\nstep 20 loss 2.7182\n")
    b'step 30 loss 2.4135'
    >>> without_torn_number(b"exit code: 1", b"step 10 loss 3.1417\n")
    b'exit code: 1'
    """
    torn = _AT_END.search(last) if len(last) <= LONGEST else None
    if torn is None:
        return last
    wording = _NUMBER.sub(b"#", last[: torn.start()]) + b"#"
    place = len(_NUMBER.findall(last[: torn.start()]))
    for record in reversed(_BREAKS.split(before[-BEFORE_BYTES:])):
        numbers = list(_NUMBER.finditer(record[:LONGEST]))
        if len(numbers) <= place or not _NUMBER.sub(b"#", record[:LONGEST]).startswith(wording):
            continue  # of another wording; also one that holds the sign of a number itself
        whole = numbers[place]
        is_whole = whole.end() == len(record) and _is_as_long(torn.group(), whole.group())
        return last if is_whole else last[: torn.start()]
    return last


ROWS_LIKE_IT = 2
"""Longer records that begin with the same wording: one may do so by chance."""


def is_piece(last: bytes, before: bytes) -> bool:
    r"""Whether the last record of a log that ends without a line break is the beginning of one like those above.

    Args:
        last: The record, without a torn number at its end.
        before: What stands before it.

    >>> rows = b"step 10 loss 3.1417\nstep 20 loss 2.7182\n"
    >>> is_piece(b"step 30 lo", rows), is_piece(b"step 30 loss ", rows), is_piece(b"step 30 loss 2.4135", rows)
    (True, True, False)
    >>> is_piece(b"bye", rows), is_piece(b"0.93", b"1 0.5 0.3\n2 0.4 0.3\n")  # a last word, a bare result
    (False, False)
    """
    if len(last) > LONGEST:
        return False
    wording = _NUMBER.sub(b"#", last.rstrip(b"\r\n"))
    if wording.count(b"#") < 2 and not re.search(rb"[A-Za-z]", wording):
        return False
    records = [
        _NUMBER.sub(b"#", record[:LONGEST]) for record in _BREAKS.split(before[-BEFORE_BYTES:]) if record
    ]
    longer = sum(record.startswith(wording) and len(record) > len(wording) for record in records)
    return longer >= ROWS_LIKE_IT and wording not in records


def _is_as_long(number: bytes, other: bytes) -> bool:
    """Whether a number has as many digits as one that is whole: behind the point, else before it, and in the exponent."""
    (digits, exponent), (others, power) = (re.split(rb"[eE]", each + b"e")[:2] for each in (number, other))
    (front, point, back), (front_of_other, point_of_other, back_of_other) = (
        each.partition(b".") for each in (digits, others)
    )
    if len(exponent) < len(power) or point != point_of_other:
        return False
    return len(back) >= len(back_of_other) if point else len(front) >= len(front_of_other)
