"""Facts about the loss scale and skipped steps."""

from __future__ import annotations

from analyzer.facts.tables.hows import LOG_SCALE

TABLE = f"""
signal.loss_scale.seen | bool | | the loss scale is known from metrics or messages | {LOG_SCALE}
signal.loss_scale.first | float | | first loss scale | {LOG_SCALE}
signal.loss_scale.last | float | | last loss scale | {LOG_SCALE}
signal.loss_scale.min | float | | smallest loss scale | {LOG_SCALE}
signal.loss_scale.at_floor | bool | | the scale ends at its configured minimum, or the trainer stopped because of it | {LOG_SCALE}
signal.loss_scale.floor_step | int | step | step at which it did | {LOG_SCALE}
signal.loss_scale.overflows | int | | skipped steps reported or implied | {LOG_SCALE}
signal.loss_scale.overflows_before_floor | int | | overflows counted up to the floor | {LOG_SCALE}
signal.loss_scale.halvings | int | | times that the scale was lowered | {LOG_SCALE}
signal.loss_scale.last_halvings_run | int | | halvings in a row, without a rise, at the end of the series | {LOG_SCALE}
signal.loss_scale.first_overflow_step | int | step | step of the first overflow | {LOG_SCALE}
signal.loss_scale.last_overflow_step | int | step | step of the last overflow | {LOG_SCALE}
signal.loss_scale.overflow_share | float | | overflows divided by steps | {LOG_SCALE}
signal.loss_scale.good_steps_after_last_overflow | int | steps | steps without overflow after the last one | {LOG_SCALE}
signal.loss_scale.recovers | bool | | at least 10 good steps, or a rise of the scale, follow the last overflow | {LOG_SCALE}
signal.loss_scale.full_ladder | bool | | every step overflowed from the first on, down to the minimum: initial_scale_power + hysteresis overflows | {LOG_SCALE}
signal.loss_scale.collapsing | bool | | the scale ends below 128 or at its floor and still falls | {LOG_SCALE}
signal.loss_scale.pinned_low | bool | | the scale stays at 8 or lower for at least 1000 steps | {LOG_SCALE}
signal.loss_scale.below_one | bool | | the scale fell below 1: no finite gradient overflows there | {LOG_SCALE}
signal.skipped_steps.share | float | | slope of the cumulative skipped counter over the last steps | keep DeepSpeed's step=…, skipped=… lines
signal.skipped_steps.total | int | | steps skipped by the counter of the trainer | keep DeepSpeed's step=…, skipped=… lines
"""
