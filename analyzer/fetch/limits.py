"""How much of a run is fetched, and how long that may take."""

from __future__ import annotations

from analyzer.record import dataclass

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one download; what is left out becomes a gap of the run."""

    # rows of history kept, the last ones. A year-long run that logs every 15 s has 2 million.
    history_rows: int = 2_000_000
    system_rows: int = 20_000  # rows of system metrics; beyond, the server thins them out evenly
    console_lines: int = 200_000  # console lines asked for one by one; the file ``output.log`` has the others
    piece_bytes: int = 2048 * MIB  # bytes of history or console as text
    log_bytes: int = 256 * MIB  # size of one log file
    config_bytes: int = 4 * MIB  # size of one configuration file
    files: int = 200  # files per run
    files_bytes: int = 1024 * MIB  # size of all files of a run
    listed_files: int = 5_000  # names looked at; a run may have millions of pictures
    # seconds without any sign of progress after which the server counts as silent. Longer than the waits that servers ask
    # for with Retry-After, usually up to a minute.
    stall_s: float = 180.0
    total_s: float = 3_600.0  # seconds for a whole run
    threads: int = 6  # requests at the same time within one run
    # memory of the processes that talk to the server: an answer that never ends is held whole by the client. A run at all
    # the other bounds takes a third of it.
    memory_bytes: int = 4096 * MIB
