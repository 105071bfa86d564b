r"""What Windows PowerShell wrote of a program's errors, put together again and rid of what it added.

Its ``2>`` and ``*>`` make an error record of each line that the program wrote to standard error, and print it in the width of the
console: a word that does not fit stands on the next line, behind a blank that is kept, and what is longer than a line goes on at its
first column. The first record of a program tells the place in the script as well::

    python : Traceback
    (most recent call last):
    At line:1 char:1
    + python fit.py
        + CategoryInfo
       : NotSpecified: ...
        + FullyQualifiedErr
       orId : NativeComma
       ndError

      File "fit.py", line 3,
    in <module>

What stands above the first record went to standard output and is as long as the program made it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator

Line = tuple[int, str]
"""Number and text of a line, without its line end."""

SIGN = "FullyQualifiedErr"
"""How the last line about the place begins behind its sign and blanks, in any language of Windows and in the narrowest console."""

MOST_LINES = 48
"""Of a first record in a narrow console: its message, the line of the script, what is said of both."""

REST_LINES = 8
"""Lines over which the longest of its names goes on in the narrowest console."""

_REST = re.compile(r" {2,12}(?:\w{0,20} ?: ?)?\S{1,80} {0,80}")
"""What the last line about the place goes on with: the end of its title and pieces of a name, indented. What a program says of an
error holds more words than that; where blank lines were taken out of a log, it follows at once."""

_SPEAKER = re.compile(r"\S{1,200} : ")
_SCRIPT = "+ "
_CATEGORY = "    + CategoryInfo"


def unwrapped(lines: Iterable[Line]) -> Iterator[Line]:
    """The lines as the program wrote them; as they are where no record is seen.

    >>> log = ["python : ValueError: ", "odd", "At line:1 char:1", "+ python fit.py", "    + CategoryInfo : x",
    ...        "    + FullyQualifiedErrorId : x", " ", "KeyError: 'learning_rate_of ", "the_head'", "and so on"]
    >>> list(unwrapped(enumerate(log, 1)))
    [(1, 'ValueError: odd'), (8, "KeyError: 'learning_rate_of the_head'"), (10, 'and so on')]
    """
    whole: list[str] = []
    number = 0
    for (at, text), width in _without_places(lines):
        if whole and width and _goes_on(whole[-1], text, width):
            whole.append(text)
            continue
        if whole:
            yield number, "".join(whole)
        number, whole = at, [text]
    if whole:
        yield number, "".join(whole)


def _without_places(lines: Iterable[Line]) -> Iterator[tuple[Line, int]]:
    """Lines with the width in which they were printed, 0 if unknown; of a first record its message alone, as one line."""
    held: deque[tuple[Line, int]] = deque()
    width = rest = 0
    for line in lines:
        if rest:
            rest = rest - 1 if _REST.fullmatch(line[1]) else 0
            if rest or not line[1].strip():
                continue
        held.append((line, width))
        if (
            line[1].lstrip(" +").startswith(SIGN)
            and (record := _record([text for (_, text), _ in held])) is not None
        ):
            begin, end = record
            pieces = [held.pop()[0] for _ in range(len(held) - begin)][::-1]
            width = max(width, *(len(text) for _, text in pieces))
            message = "".join(text for _, text in pieces[: end - begin])
            held.append(((pieces[0][0], message[message.index(" : ") + 3 :]), 0))
            rest = REST_LINES + 1
        while len(held) > MOST_LINES:
            yield held.popleft()
    yield from held


def _record(texts: list[str]) -> tuple[int, int] | None:
    """Where the first record of a program begins and its message ends; the last text is the last line about the place."""
    category = next((p for p in reversed(range(len(texts))) if texts[p].startswith(_CATEGORY)), 0)
    begin = next((p for p in reversed(range(category)) if _SPEAKER.match(texts[p])), None)
    if begin is None:
        return None
    script = next((p for p in range(begin, category) if texts[p].startswith(_SCRIPT)), category)
    return begin, max(begin + 1, script - 1)  # one line above the script names line and column


def _goes_on(piece: str, following: str, width: int) -> bool:
    """Whether a line was broken: the next word, or the rest of a longer one, did not fit."""
    if not piece.strip() or not following.strip():
        return False
    if piece.endswith(" "):
        return len(piece) + len(following.partition(" ")[0]) > width
    # a rule across the console is no text, and what is indented begins anew
    return len(piece) == width and len(set(piece)) > 2 and not following.startswith("  ")
