"""The errors that analyzer raises on purpose.

    AnalyzerError                  base of all; carries the exit code of the command line
    |- InputError            3     the run is missing, unreadable, or nothing in it was recognised
    |  |- UnknownFormatError 3     files were there, none of a known format; says what was looked for
    |  |- UnreadableFileError 3    path:line and reason; raised only if nothing at all could be read
    |  `- FetchError          3     a run on a server cannot be fetched: key, access, address, network, limits
    `- RuleError             4     a rule file is wrong; always says file:line:column
       |- RuleSyntaxError    4     the YAML or a condition cannot be parsed
       |- UnknownFactError   4     a condition names a fact that nobody emits; names the nearest
       `- RuleCaseError      4     a rule's own case does not come out as it says

A file that can be read in part is never an error: what was lost becomes a ``Gap`` of the run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar


class AnalyzerError(Exception):
    """Base of all errors that a user may see as one line: what, where, what to do."""

    exit_code: ClassVar[int] = 70


class InputError(AnalyzerError):
    """The source given by the user cannot be diagnosed at all."""

    exit_code = 3


class UnknownFormatError(InputError):
    """Files were found, but none is of a format that an ingestor knows."""


class UnreadableFileError(InputError):
    """A file that the user named cannot be read, and nothing else was there."""


class FetchError(InputError):
    """A run that lies on a server cannot be fetched.

    Args:
        message: What is wrong and what to do, in one line.
        kind: One of ``address``, ``no_client``, ``no_key``, ``refused_key``, ``not_found``, ``private``,
            ``old_server``, ``rate_limit``, ``timeout``, ``unreachable``, ``incomplete``, ``offline``, ``cache``,
            ``filter``, ``server``.
    """

    def __init__(self, message: str, *, kind: str) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind

    def __reduce__(self) -> tuple[object, ...]:
        return _fetch_error, (self.message, self.kind)

    @property
    def is_transient(self) -> bool:
        """Whether the same request may succeed later without any change by the user."""
        return self.kind in {"rate_limit", "timeout", "unreachable", "incomplete"}


def _fetch_error(message: str, kind: str) -> FetchError:
    """Build the error again in another process."""
    return FetchError(message, kind=kind)


class RuleError(AnalyzerError):
    """A rule pack is invalid.

    Args:
        message: What is wrong and what is expected.
        where: ``path:line:column`` of the offending place, or the path alone.
    """

    exit_code = 4

    def __init__(self, message: str, where: str = "") -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.message = message
        self.where = where


class RuleSyntaxError(RuleError):
    """A rule file or a condition in it cannot be parsed."""


class UnknownFactError(RuleError):
    """A condition uses a name that is not in the catalogue of facts."""


class RuleCaseError(RuleError):
    """A case beside a rule does not come out as it says."""


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that is spelled most like a word; empty if none is near."""
    import difflib  # noqa: PLC0415  (only error messages need it)

    return next(iter(difflib.get_close_matches(word, known, n=1, cutoff=0.6)), "")


def did_you_mean(near: str, otherwise: str = "") -> str:
    """The end of a message that refuses a word.

    Args:
        near: The nearest known word, see ``nearest``; empty if there is none.
        otherwise: What to say then.

    >>> "no gate is called 'hott'" + did_you_mean(nearest("hott", ["hot", "cold"]))
    "no gate is called 'hott'; did you mean 'hot'?"
    """
    return f"; did you mean {near!r}?" if near else otherwise
