"""How much work and memory the reading of one run may cost: in one place, each bound with its reason.

What a reader leaves because of a bound becomes a gap, and evidence that was there and was not read forbids "healthy".
Bounds of a single format stand with its reader; those here hold for all.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from analyzer.record import dataclass, field

BASE_CPU_S = 60.0
"""CPU seconds of one diagnosis whatever the input. The largest sample takes 2 s, all public runs together 90 s."""

BYTES_PER_CPU_S = 2 << 20
"""Beyond the base, a second for so many bytes on disk. Logs are read at 30 to 300 MB per second, timing traces at 10, the
slowest honest formats, tables and JSON lines, at 3: of an honest file nothing is left out."""

HONEST_RATIO = 20
"""Real logs compress 20:1 at best, so a compressed byte earns at most as much as so many plain ones; a bomb of 1000:1
earns no more."""

READING_SHARE = 0.7
"""Of the whole, what reading may take before it is told to stop at the next block."""

INTERRUPTED_SHARE = 0.75
"""Where a reader that does not come to its next block is interrupted. The rest, a quarter, is there for judging: detectors,
facts, rules and the parts of the answer. The largest honest logs take a twentieth of their reading time for that."""

FILE_SHARE = 0.25
"""Of what is left when a file is opened, what it may take beyond what its own size earns: one slow file, whoever made it,
leaves time for those after it."""

MAX_WALKED = 300_000
"""Names that a walk collects before it chooses; listing them takes a second or two."""

JSON_BYTES = 384 << 20
"""Memory that a JSON text may become when it is built whole. The largest honest one, a flight recorder's ring of 20,000
entries with their stacks, takes about 250 MB."""

METRIC_NAMES = 5_000
"""Names of metrics kept of one log; the largest real one (norms of every layer) has under 2,000."""


@dataclass
class Budget:
    """CPU time that one diagnosis may take, of which reading may take a share and judging the rest."""

    base_s: float = BASE_CPU_S  # seconds that it has before it has read anything
    size_bytes: int = 0  # bytes on disk of the files that were opened so far
    _began_s: float = field(default_factory=lambda: time.process_time())  # noqa: PLW0108  (looked up late: a test has its own clock)

    def open_file(self, size_bytes: int, *, compressed: bool) -> None:
        """A file is opened: its size earns time."""
        self.size_bytes += size_bytes * HONEST_RATIO if compressed else size_bytes

    @property
    def total_s(self) -> float:
        """Seconds earned so far."""
        return self.base_s + self.size_bytes / BYTES_PER_CPU_S

    @property
    def judging_s(self) -> float:
        """Seconds that what follows reading may take."""
        return (1 - INTERRUPTED_SHARE) * self.total_s

    def until_s(self, share: float) -> float:
        """The reading of ``time.process_time()`` at which a share of the time is over."""
        return self._began_s + share * self.total_s

    def file_until_s(self) -> Callable[[], float]:
        """Until when the file that is opened next may be read, asked anew at each look: its size earns time."""
        now_s, before = time.process_time(), self.size_bytes
        share_s = FILE_SHARE * max(self.until_s(INTERRUPTED_SHARE) - now_s, 0.0)
        return lambda: now_s + share_s + INTERRUPTED_SHARE * (self.size_bytes - before) / BYTES_PER_CPU_S

    def spent(self) -> str:
        """Why nothing more is to be read; empty as long as there is time left."""
        return "" if time.process_time() <= self.until_s(READING_SHARE) else self.reason

    @property
    def of_a_file(self) -> str:
        """Why a file was interrupted."""
        return (
            f"it took more than its part of the {READING_SHARE * self.total_s:.0f} s of CPU that reading a run of this size"
            " may take (--budget gives more)"
        )

    @property
    def reason(self) -> str:
        """What is said of what was not read."""
        return (
            f"the {READING_SHARE * self.total_s:.0f} s of CPU that reading a run of this size may take are spent"
            " (--budget gives more)"
        )


class _Current:
    """The budget of the diagnosis under way, and the base of the next ones."""

    base_s: float = BASE_CPU_S
    budget: Budget = Budget()


CURRENT = _Current()


def begin() -> Budget:
    """Begin a diagnosis."""
    CURRENT.budget = Budget(CURRENT.base_s)
    return CURRENT.budget
