"""How much of a run is fetched, and how long that may take."""

from __future__ import annotations

from analyzer.record import dataclass

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one download; what is left out becomes a gap of the run.

    Attributes:
        history_rows: Rows of history kept, the last ones. A year-long run that logs every 15 s has 2 million.
        system_rows: Rows of system metrics; beyond, the server thins them out evenly.
        console_lines: Console lines asked for one by one; the file ``output.log`` has the others.
        piece_bytes: Bytes of history or console as text.
        log_bytes: Size of one log file.
        config_bytes: Size of one configuration file.
        files: Files per run.
        files_bytes: Size of all files of a run.
        listed_files: Names looked at; a run may have millions of pictures.
        stall_s: Seconds without any sign of progress after which the server counts as silent. Longer than the
            waits that servers ask for with Retry-After, usually up to a minute.
        total_s: Seconds for a whole run.
        threads: Requests at the same time within one run.
        memory_bytes: Memory of the processes that talk to the server: an answer that never ends is held whole by the
            client. A run at all the other bounds takes a third of it.
    """

    history_rows: int = 2_000_000
    system_rows: int = 20_000
    console_lines: int = 200_000
    piece_bytes: int = 2048 * MIB
    log_bytes: int = 256 * MIB
    config_bytes: int = 4 * MIB
    files: int = 200
    files_bytes: int = 1024 * MIB
    listed_files: int = 5_000
    stall_s: float = 180.0
    total_s: float = 3_600.0
    threads: int = 6
    memory_bytes: int = 4096 * MIB
