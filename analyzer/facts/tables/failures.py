"""Facts about which failure came first and what only follows from it."""

from __future__ import annotations

_RANK_LOGS = "keep the log of every rank (torchrun --log-dir, --tee 3) and diagnose the whole folder"

TABLE = f"""
failure.seen | bool | | some line reports a failure that training did not survive |
failure.root_seen | bool | | a failure was seen that is neither a lost peer, nor a timeout, nor the launcher's clean-up | {_RANK_LOGS}
failure.first.kind | str | | kind of the line that reports the first failure, by time, rank and role |
failure.first.family | str | | hardware, host, exception, device, numeric, memory, peers or cleanup |
failure.first.rank | int | | global rank that failed first | {_RANK_LOGS}
failure.first.host | str | | host of that rank | {_RANK_LOGS}
failure.first.where | str | | rank and host of the first failure in words, like "rank 5 on node-a" | {_RANK_LOGS}
failure.first.at_end | bool | | it stands in the last two lines of its log, so nothing shows that the program went on |
failure.first.lead_s | float | s | time by which the first failure precedes the first failure of another rank | {_RANK_LOGS}
failure.ranks | int | ranks | ranks that report a failure |
failure.followers | int | ranks | ranks of which every failure follows from the first one |
failure.alike | int | ranks | further ranks that failed in the same way |
failure.silent_rank | int | | the one rank that logged, but reports no failure while all others do | {_RANK_LOGS}
failure.launcher.rank | int | | rank that the launcher calls the root cause |
failure.launcher.misreported | bool | | the launcher names a rank that was not the first to fail | {_RANK_LOGS}
failure.survived | int | | errors after which training went on |
message.cause | str | | what the words of the error lines suggest |
message.probability | float | probability | probability of that cause by the words alone |
message.bits | float | bits | evidence for that cause, at most 3 bits |
"""
