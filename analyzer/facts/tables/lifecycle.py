"""Facts about restarts, writers, trackers and whether the run still lives."""

from __future__ import annotations

TABLE = """
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
