"""Facts about how the run ended, restarts, writers, trackers and whether the run still lives."""

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
lifecycle.restarts | int | | times that the job was started again, by its attempts or its launcher's words |
lifecycle.restarts_without_progress | int | | restarts in a row after which no new step was reached | keep the log of every attempt
lifecycle.restart_span_s | float | s | time from the first to the last restart | keep the log of every attempt
lifecycle.writers_overlap | bool | | two files of one kind hold different losses for the same steps, and neither goes on where the other ended |
lifecycle.tracker_gap | bool | | the tracker lacks steps in its middle that the log of the run has | compare the tracker's curve with the log of the run
lifecycle.grad_norm_logged | bool | | a gradient norm was logged beside the loss |
lifecycle.written_ago_s | float | s | time since the last write to a file of the run, when it was read | look when the log was last written: ls -l --time-style=full-iso
lifecycle.stamps_recent | bool | | the newest time in the logs is of today, whatever the time zone |
lifecycle.lemon_host | str | | host on which several separate failures began | note the host of every failed attempt
lifecycle.lemon_failures | int | | separate failures on that host: of different attempts, or ten minutes apart | note the host of every failed attempt
lifecycle.failures_elsewhere | int | | separate failures on all other hosts | note the host of every failed attempt
"""
