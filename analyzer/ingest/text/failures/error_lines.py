"""The last lines of a log that read like errors, whoever wrote them, and the last frames of its tracebacks.

No pattern has to know them. They are what is quoted where nothing else was recognised, and what the reader of unknown
messages (``detect/failures/unknown_message.py``) compares with messages whose causes are known.
"""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.lazy_regex import LazyRegex

KEPT_LINES = 25
"""Error lines kept of one log: a failure and what follows from it; a rank that dies repeats itself."""

KEPT_FRAMES = 3
"""Frames kept: the last ones name the library that raised."""

# What may belong to an error, in small letters.
_LIKE_AN_ERROR = LazyRegex(
    r"error\b|exception\b|can't|mismatch|unexpected|corrupt|unreachable|exit(?:ed)? (?:with )?(?:code|status)|unrecogni[sz]ed|incompatible|unsupported"
    r"|segmentation|core dumped|preempt|evict|\b(?:fatal|fail(?:ed|ure|s)?\b|abort|cannot\b|denied|killed\b|panic|invalid|not found|unable|(?<!left )out of(?! {0,2}\d)"
    r"|tim(?:ed|e) ?out|refused|missing|exceed|assert|nccl warn\b|illegal|xid\b|terminat|could not\b|does not\b"
    r"|not (?:ready|compiled|supported|responding|enough|allowed|available)\b|cancell?ed|deleted by\b|died\b|broken\b|lost\b|diverged|unmounted|no space"
    r"|mpi_abort\b|sig(?:segv|kill|term|abrt|bus)\b|too (?:many|large|small)\b|unavailable\b)"
)
_FRAME = LazyRegex(r'^\s{0,40}(?:\[[\w: -]{1,40}\]:? {0,4})?File "')
_BAR = LazyRegex(r"\d{1,3}%\|")

# A line that says by itself that something ended badly.
_PLAIN_ERROR = LazyRegex(
    r"^\W{0,12}(?:[A-Za-z_][\w.]{0,120})?(?:Error|Exception|Failure|Interrupt)\b[^=]{0,4}: ?\S|\b(?:fatal|FATAL)\b|\bpanic:|\bFAILED\b|[Aa]bort(?:ed|ing)\b|core dumped"
    r"|\b[Ee]xit(?:ed|s)? (?:with |status |code ){0,2}(?:code|status)?[:= ]{0,3}-?[1-9]\d{0,5}\b|^\W{0,12}(?:\S{1,60} )?(?:ERROR|error|Error):? \S|\berrno[ =:]|\b(?:Assertion|[A-Z]{1,20}_ASSERT)\b.{0,200}\bfailed|\bASSERTION_FAILED\b"
    r"|(?<![\w.\[('\"])(?:[a-z_]\w{0,40}\.){0,8}[A-Z]\w{1,60}(?:Error|Exception): ['`\"]?[A-Za-z]\S{0,80} \S"
    r"|(?:failed|terminated) (?:with|due to|because|by signal)\b|(?:^|[\s:])Check failed: \S|\bgiving up\b|\bnon-zero exit\b"
)
# Warnings, notes of a logger, retries, counts of none (``missing values: 0``), what Hydra puts above an exception, an end without an error, errors that are measured, and what a tracker says of its own server.
_MILDER = LazyRegex(
    r"^[\d:. /-]{0,40}\[?[IWD](?:\d{3,4}|) |^Error executing job with overrides: |\[[IWD] \w{1,40}\.cpp:\d|(?i:(?<!NCCL )\bwarn(?:ing)?\b|Warning\b|\bINFO\b|\bDEBUG\b|exit(?:ed)? (?:with )?(?:code|status)[:= ]{1,3}0\b(?!:)|\bretry|\bignor(?:ed|ing)\b|\b0 errors?\b|will be|error (?:rate|bars?)|errors? ?[:=] ?[-+*\[(]{0,3}(?:\d|nan\b|inf\b)|\b(?:mean|squared|absolute|abs|test|train|val\w*|relative) error|\bskip|unable to register cu)"
    r"|(?i:\b(?:missing|invalid|corrupt(?:ed)?|fail(?:ed|ures?)|unexpected|exceptions?|mismatch(?:es)?|lost|broken)(?:[ _](?:values?|keys?|rows?|entries|samples?|files?|images?|labels?|records?|items?|tests?|requests?))?[\"']? ?[:=] ?(?:0|\[\]|\{\})(?![\w.])"
    r"|\b(?:0|no) (?:failed|failures?|missing|invalid|corrupt(?:ed)?|unexpected|exceptions?|mismatch(?:es)?)\b)"
    r"|^(?:wandb|swanlab): (?:ERROR|WARNING) (?:Error while calling|Error uploading|Dropped|Network error|Failed to (?:upload|sync))|^(?:COMET|\[neptune\]) (?:ERROR|WARNING)\b"
)

_WARNS = LazyRegex(
    r"(?:^|[\s.:])[A-Z]\w{0,40}Warning: \S|(?:^|[\s\[(])(?:WARN|WARNING|Warning|warning)\b ?[\]):|]"
)
# Words that a mere warning seldom has: a log with one of them is not called quiet.
_GRAVE = LazyRegex(
    r"(?i)error\b|\bfatal|\bfail(?:ed|ure)\b|exception\b|\babort|\bcannot\b|can't|\bdenied|\bkilled\b|\bpanic|\bgiving up\b"
)

_CODE = LazyRegex(r"\s{0,60}(?:raise|assert|except|return|print|throw|if|elif)\b")

_IMPORT = LazyRegex(
    r"(?i)\bno module named\b|\b(?:failed|failure|unable|error|could not|cannot|can't) (?:to )?import(?:ing)?\b|\bimport error\b"
)
_RAISED = LazyRegex(r"^\W{0,12}(?:[\w.]{1,80}\.)?(?:ModuleNotFound|Import)Error\b")
"""How the interpreter tells of an import that ended the program; who catches one tells of it in words of its own."""

GONE_ON_LINES = 5
"""Lines below an import that failed from which the program did without the module: else its first line would be its last."""

CELLS = 4
"""Bars of a line from which it is a row of a table."""


def is_plain_error(text: str) -> bool:
    """Whether a line says without a doubt that something failed.

    >>> is_plain_error("ERROR: the store gave up"), is_plain_error("WARNING: an error may occur")
    (True, False)
    >>> is_plain_error("wandb: ERROR Error while calling the API: context deadline exceeded")
    False
    >>> is_plain_error("error: [0.56 0.42]"), is_plain_error("minibatch 3: error = 161.5"), is_plain_error("Error: -nan")
    (False, False, False)
    """
    return _PLAIN_ERROR.search(text) is not None and _MILDER.search(text) is None


def is_code_or_row(text: str) -> bool:
    """Whether a line is one of source code, or a row of a table, whose own reader tells of it.

    >>> is_code_or_row("    raise ValueError('no')"), is_code_or_row("ValueError: no")
    (True, False)
    """
    return text.count("|") >= CELLS or _CODE.match(text) is not None


def error_lines(lines: Sequence[str]) -> tuple[int, ...]:
    """Which of some lines read like errors, in order: the last of them, with the last frames and the code below each.

    >>> error_lines(["import error: No module named 'fastops'", "step 1 loss 2.5"])
    (0,)
    >>> error_lines(["import error: No module named 'fastops'", *(f"step {n} loss 2.5" for n in range(5))])
    ()
    >>> error_lines(["ModuleNotFoundError: No module named 'fastops'", *(f"on host {n}" for n in range(5))])
    (0,)
    >>> error_lines(["Missing values: 0", "unexpected keys: []", "0 failed"]), error_lines(["Missing values: 3", "invalid batch size: 0"])
    ((), (0, 1))
    >>> error_lines(["sets.py:95: SyntaxWarning: assertion is always true", "  assert (", "loading"])
    ()
    """
    errors = [
        i
        for i, line in enumerate(lines)
        if _LIKE_AN_ERROR.search(line.lower())
        and not (_BAR.search(line) or _MILDER.search(line) or _is_of_a_warning(lines, i))
    ]
    frames = [i for i, line in enumerate(lines) if _FRAME.match(line)][-KEPT_FRAMES:]
    code = [i + 1 for i in frames if i + 1 < len(lines)]
    if not frames and (not errors or _were_optional(lines, errors)):
        return ()
    return tuple(sorted({*errors[-KEPT_LINES:], *frames, *code}))


def _is_of_a_warning(lines: Sequence[str], i: int) -> bool:
    """Whether a line is the code of which the line above warns."""
    return i > 0 and _CODE.match(lines[i]) is not None and _WARNS.search(lines[i - 1]) is not None


def _were_optional(lines: Sequence[str], errors: Sequence[int]) -> bool:
    """Whether all that reads like an error is an import that failed, of a module that the program then did without."""
    below = sum(1 for line in lines[errors[-1] + 1 :] if line.strip())
    caught = (_IMPORT.search(lines[i]) and not _RAISED.match(lines[i]) for i in errors)
    return below >= GONE_ON_LINES and all(caught)


def last_warning(lines: Sequence[str]) -> int | None:
    """Which of some lines is the last that a library or logger marks as a warning; None if one speaks of a failure.

    >>> last_warning(["loading", "util.py:3: UserWarning: the default will change", "  warn(text)"])
    1
    >>> last_warning(["warning: giving up after 3 attempts"])
    """
    if any(_GRAVE.search(line) for line in lines):
        return None
    return next((i for i in reversed(range(len(lines))) if _WARNS.search(lines[i])), None)
