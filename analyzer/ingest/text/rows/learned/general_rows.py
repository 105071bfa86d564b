"""One event that says how much of a log was read without knowing its program.

Such rows are read by the names in them alone. They are right nearly always, but a reader of the report
should be able to see that nothing but a name made a number a loss.
"""

from __future__ import annotations

from collections.abc import Iterable

from analyzer.ingest.text.log_line import LogLine, LogState
from analyzer.model.tables import Scalar
from analyzer.record import replace

MAX_NAMES = 12
"""Names listed in the event."""


class GeneralRows:
    """Counts rows and remembers their names.

    Args:
        form: How the rows are written: ``pairs`` of name and value, or ``table``.
    """

    def __init__(self, form: str) -> None:
        self._form = form
        self._first: LogLine | None = None
        self._step: int | None = None
        self._rows = 0
        self._names: dict[str, None] = {}

    def note(self, line: LogLine, names: Iterable[str], step: int | None) -> None:
        """A row was read."""
        if self._first is None:
            self._first, self._step = replace(line, block=b"", start=0, end=0), step
        self._rows += 1
        if len(self._names) < MAX_NAMES:
            self._names.update(dict.fromkeys(names))

    def more(self, rows: int) -> None:
        """Rows like those before were read."""
        self._rows += rows

    def tell(self, log: LogState) -> None:
        """Write the event, at the first row."""
        if self._first is not None:
            names = ", ".join(sorted(self._names)[:MAX_NAMES])
            fields: dict[str, Scalar] = {"rows": self._rows, "form": self._form, "names": names}
            log.event("rows_read_by_name", "info", self._first, fields, self._step)
