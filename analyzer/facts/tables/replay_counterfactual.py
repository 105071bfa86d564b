"""Facts of a replayed step: what reruns with one thing changed say."""

from __future__ import annotations

_RUN = "save the failing step with record(model, …, capsule=DIR) and run: analyzer replay run DIR --model module:factory"

TABLE = f"""
signal.rerun.seen | bool | | a captured step was run again | {_RUN}
signal.rerun.verdict | str | | precision, loss_scale, kernel, weights, data, transient, not_precision, not_reproduced or unknown | {_RUN}
signal.rerun.reproduced | bool | | run again as recorded, something was not finite | {_RUN}
signal.rerun.forward_nonfinite | bool | | run again as recorded, the forward pass was not finite | {_RUN}
signal.rerun.float32_finite | bool | | in float32 all was finite | {_RUN}
signal.rerun.bfloat16_finite | bool | | in bfloat16 all was finite | {_RUN}
signal.rerun.smaller_scale_finite | bool | | at a smaller loss scale all was finite | {_RUN}
signal.rerun.largest_good_scale | float | | largest loss scale at which all was finite | {_RUN}
signal.rerun.scale_one_nonfinite | bool | | even at loss scale 1 something was not finite | {_RUN}
signal.rerun.repeat_differs | bool | | the same step on the same device gave another result | {_RUN}
signal.rerun.kernel_wrong | bool | | the first bad operator's inputs give a finite result in float64 that fits its format | {_RUN}
signal.rerun.weights_nonfinite | bool | | the captured weights hold NaN or infinity | {_RUN}
signal.rerun.batch_nonfinite | bool | | the captured batch holds NaN or infinity | {_RUN}
signal.rerun.masked_rows | int | | rows of the first bad softmax in which every score is masked | {_RUN}
signal.rerun.special_row | int | | token whose row holds most of an embedding's gradient in float32 | {_RUN}
signal.rerun.special_row_share | float | | its share of the squared gradient | {_RUN}
signal.rerun.special_row_gain | float | | its largest gradient over the median of all tokens of the batch | {_RUN}
"""
