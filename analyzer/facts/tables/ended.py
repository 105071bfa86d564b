"""Facts about how the run ended."""

from __future__ import annotations

TABLE = """
ended.state | str | | how the run ended: completed, crashed, interrupted, still running or unknown |
ended.because | str | | what says so, in a sentence without a full stop |
ended.planned | float | | steps or epochs that the run was to do | keep the line or the file that states how long the run was to be
ended.reached | float | | how many of them it did |
ended.unit | str | | what those count: steps or epochs |
ended.silent_s | float | s | time since the last sign of the run, when it was read; never more than is certain | let every line carry its time
ended.interval_s | float | s | usual time between two lines or rows near the end | let every line carry its time
ended.checkpoint | str | | the last checkpoint that the run is known to have saved | print a line for every checkpoint saved
ended.checkpoint_step | int | step | its step |
ended.lost | float | | steps between that checkpoint and the last step |
ended.at_exit | str | | kind of the failure that came after the training was complete |
"""
