"""Facts about checkpoints, modules, anomaly reports and generations."""

from __future__ import annotations

from analyzer.facts.tables.hows import CHECKPOINT, RERUN_HOOK

TABLE = f"""
signal.embedding.seen | bool | | the embedding of a checkpoint was read | {CHECKPOINT}
signal.embedding.special_row_rms_min | float | | smallest root mean square among the special tokens' rows | {CHECKPOINT}
signal.embedding.median_row_rms | float | | median root mean square of the ordinary rows | {CHECKPOINT}
signal.embedding.special_rows_tiny | bool | | a special token's row is smaller than one hundredth of the ordinary rows | look at the special tokens' embedding rows: print the norm of each against the median (or give --checkpoint)
signal.embedding.tiny_rows | int | | special tokens whose row is smaller than one hundredth of the ordinary rows | {CHECKPOINT}
signal.embedding.ordinary_rows_tiny | bool | | the ordinary rows too have a root mean square below 0.025, where fp16 norms overflow | {CHECKPOINT}
signal.embedding.tiny_token | str | | special token whose row is smallest | {CHECKPOINT}
signal.checkpoint.nonfinite_elements | int | | NaN or infinite weights in the checkpoint | {CHECKPOINT}
signal.checkpoint.dtype | str | | dtype of the stored weights | {CHECKPOINT}
signal.attention.fully_masked_rows | bool | | an attention row has nothing to attend to | print("fully masked attention rows:", int((~allowed.any(-1)).sum())) for the mask `allowed` of the failing batch
signal.module.first_nonfinite | str | | module in which a hook saw the first NaN or infinity | {RERUN_HOOK}
signal.module.first_nonfinite_pass | str | | forward or backward: the pass in which that hook ran | {RERUN_HOOK}
signal.module.activation_absmax | float | | largest activation that a hook printed | {RERUN_HOOK}
signal.module.activations_near_limit | bool | | a hook printed an activation above 1e4, the warning line of fp16 | {RERUN_HOOK}
signal.module.forward_nonfinite | bool | | a hook or a replay trace saw NaN or an infinity in the output of a module | {RERUN_HOOK}
signal.module.gradients_nonfinite | bool | | a hook saw NaN or infinite gradients in a module | register full backward hooks and print the first module with a non-finite gradient
signal.anomaly.seen | bool | | autograd anomaly mode reported a NaN in a backward function |
signal.anomaly.reports | int | | reports of autograd anomaly mode |
signal.anomaly.function | str | | that function, for example CompiledFunctionBackward |
signal.anomaly.compiled | bool | | the function belongs to a compiled graph |
signal.anomaly.unsafe_math | bool | | the function is the derivative of sqrt, log, pow, div, norm, acos or atan2 |
signal.anomaly.false_alarm | bool | | after the last report the run went on with at least 10 good steps | rerun with anomaly mode off and see whether the loss scale settles
signal.sampling_error.seen | bool | | sampling failed because of inf or NaN probabilities |
signal.sampling_error.after_nonfinite | bool | | a non-finite loss or gradient came before it |
signal.generation.repeats_one_token | bool | | a printed generation repeats a single token |
"""
