"""Facts of replay traces (what was measured on tensors around the step that failed) and of reruns with one thing changed."""

from __future__ import annotations

_RECORD = "record the failing step with analyzer.replay.record(model) and give the file with --replay"
_RUN = "save the failing step with record(model, …, capsule=DIR) and run: analyzer replay run DIR --model module:factory"

TABLE = f"""
signal.replay.seen | bool | | a numeric replay trace was read | {_RECORD}
signal.replay.rows | int | | tensors measured in the trace | {_RECORD}
signal.replay.ranks | int | | ranks in the trace | {_RECORD}
signal.replay.steps | int | | steps in the trace | {_RECORD}
signal.replay.nonfinite | bool | | a measured tensor holds NaN or infinity | {_RECORD}
signal.replay.harmful | bool | | the bad tensor did harm: no later step, in trace or log, is good | record some steps after the bad one
signal.replay.recovered | bool | | a later step of the trace is finite again | record some steps after the bad one
signal.replay.origin | str | | where the first bad tensor arose, in words | {_RECORD}
signal.replay.first_module | str | | module in which the first bad tensor arose | {_RECORD}
signal.replay.first_module_type | str | | class of that module | {_RECORD}
signal.replay.first_op | str | | operator that made it | analyzer replay run CAPSULE finds the operator
signal.replay.first_pass | str | | forward, backward, optimizer, communication or parameters | {_RECORD}
signal.replay.first_role | str | | its role in that module, for example output[0] | {_RECORD}
signal.replay.first_dtype | str | | its number format | {_RECORD}
signal.replay.first_step | int | | its step | {_RECORD}
signal.replay.first_rank | int | | the rank on which it arose first | record every rank
signal.replay.first_site | str | | its place in the source code | {_RECORD}
signal.replay.first_family | str | | attention, norm, embedding, loss, mlp or other | {_RECORD}
signal.replay.first_how | str | | call, between, mask, input, weights, loss or unknown_inputs: what is known of its making | {_RECORD}
signal.replay.inputs_finite | bool | | everything that went into that place was finite | {_RECORD}
signal.replay.forward_nonfinite | bool | | it arose in the forward pass | {_RECORD}
signal.replay.masked_row | bool | | a softmax made NaN of scores that are all masked | {_RECORD}
signal.replay.weights_nonfinite | bool | | a parameter was bad before anything else | {_RECORD}
signal.replay.bad_parameter | str | | that parameter | {_RECORD}
signal.replay.huge_parameter | str | | a finite parameter whose squares leave the range of float32 | {_RECORD}
signal.replay.beyond_float32 | bool | | what went in is so large that its squares leave the range of float32 | {_RECORD}
signal.replay.batch_nonfinite | bool | | it entered the model from outside, with the batch | {_RECORD}
signal.replay.unsafe_math | bool | | the operator is sqrt, log, pow, div, norm or another with infinite slope | {_RECORD}
signal.replay.input_absmax | float | | largest input of that place | {_RECORD}
signal.replay.weight_absmax | float | | largest weight of that place | {_RECORD}
signal.replay.narrow_format | bool | | its number format ends below a million (fp16, fp8) | {_RECORD}
signal.replay.limit_ratio | float | | its largest input, or product of input and weight, over the largest number of its format | {_RECORD}
signal.replay.overflowed | bool | | it left the range of its format, as against NaN made of ordinary numbers | {_RECORD}
signal.replay.result_impossible | bool | | the inputs are too small to give such a result: number of terms x input x weight lies within the range | record the weights too
signal.replay.one_rank_only | bool | | one rank alone made it, the others only received it or are clean | record every rank
signal.replay.limit_share | float | | largest finite activation of fp16 or fp8 over the largest number of the format | {_RECORD}
signal.replay.limit_module | str | | module of that activation | {_RECORD}
signal.replay.near_limit | bool | | that activation lies in the upper half of the range | {_RECORD}
signal.replay.overflow_share | float | | largest share of a tensor's elements that a cast saturated | {_RECORD}
signal.replay.gradient_underflow_share | float | | share of the gradients' elements that a cast made 0 | {_RECORD}
signal.replay.special_row_gradient_share | float | | share of an embedding's squared gradient in the row of one special token | {_RECORD}
signal.replay.special_row | str | | that token | {_RECORD}
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
