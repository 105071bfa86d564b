"""Every fact that a rule may use: name, type, meaning, and how to get it when it is unknown.

``event.<kind>.*`` facts exist for every log pattern (see ``event_spec``), the others are listed here.
A detector may emit only names that stand here; a rule may mention only names that stand here.
"""

from __future__ import annotations

import re
from functools import lru_cache

from analyzer.model.signal import FactSpec

_RERUN_HOOK = "run one step with forward hooks that print min/max per module"
_LOG_NORM = "log grad_norm every step (HF: logging_steps=1; DeepSpeed: engine.get_global_grad_norm())"
_LOG_SCALE = "log the loss scale every step (scaler.get_scale(); DeepSpeed: set its logger to INFO)"
_CHECKPOINT = "give the checkpoint with --checkpoint, or put its safetensors file beside the logs"
_MODEL_CONFIG = "put the model's config.json beside the logs, or give it with --checkpoint"
_USER_CONFIG = "put the training configuration beside the logs"
_TWIN = "rerun with only this changed and give that run with --twin"
_TOKENIZER = "put tokenizer_config.json beside the logs"

# name | type | unit | meaning | how to get it
_TABLE = f"""
config.precision | str | | precision of the forward and backward pass: fp16, bf16, fp32 or fp8 | {_USER_CONFIG}
config.precision_fp16_pure | bool | | the weights themselves are in fp16, without mixed precision | {_USER_CONFIG}
config.uses_loss_scaler | bool | | a dynamic loss scale is in use | {_USER_CONFIG}
config.weights_dtype | str | | dtype in which the trained weights were loaded: float16, bfloat16 or float32 | {_USER_CONFIG}
config.model.native_dtype | str | | dtype in which the model was published: float32, float16 or bfloat16 | {_MODEL_CONFIG}
config.model.bf16_born | bool | | the model was pre-trained in bf16, by its config or as a member of a family known for it | {_MODEL_CONFIG}
config.model.bf16_born_by_config | bool | | the model's own config.json names bfloat16 as its dtype | {_MODEL_CONFIG}
config.model.type | str | | model_type of the model, for example llama | {_MODEL_CONFIG}
config.model.name | str | | name or path of the model that was loaded | {_USER_CONFIG}
config.model.vocab_size | int | tokens | rows of the embedding by the model's config | {_MODEL_CONFIG}
config.model.layers | int | | number of decoder layers | {_MODEL_CONFIG}
config.model.attention | str | | attention implementation: eager, sdpa, flash or flex | {_USER_CONFIG}
config.model.is_base | bool | | the model's name marks a base (not chat, instruct) variant | {_USER_CONFIG}
config.data.packing | bool | | several samples share one row | {_USER_CONFIG}
config.data.padding_side | str | | left or right | {_TOKENIZER}
config.data.padding_free | bool | | samples are concatenated without padding | {_USER_CONFIG}
config.data.max_length | int | tokens | longest sequence kept | {_USER_CONFIG}
config.data.masks_prompt | bool | | the loss is taken over the answer only | {_USER_CONFIG}
config.data.uses_chat_template | bool | | the data is formatted with a chat template that holds special tokens | {_TOKENIZER}
config.tokenizer.added_tokens | int | tokens | special tokens that were added to or reserved in the vocabulary, without bos, eos, unk, pad | {_TOKENIZER}
config.tokenizer.size | int | tokens | number of tokens that the tokenizer can produce | {_TOKENIZER}
config.tokenizer.pad_token_missing | bool | | the tokenizer has no pad token | {_TOKENIZER}
config.tokenizer.pad_is_eos | bool | | the pad token is the eos token | {_TOKENIZER}
config.train.learning_rate | float | | peak learning rate asked for | {_USER_CONFIG}
config.train.warmup_steps | int | steps | warm-up steps asked for | {_USER_CONFIG}
config.train.has_warmup | bool | | some warm-up is configured | {_USER_CONFIG}
config.train.scheduler | str | | learning-rate schedule, lower case | {_USER_CONFIG}
config.train.optimizer | str | | optimizer, lower case | {_USER_CONFIG}
config.train.adam_epsilon | float | | epsilon of Adam | {_USER_CONFIG}
config.train.adam_beta2 | float | | second-moment decay of Adam | {_USER_CONFIG}
config.train.micro_batch_size | int | samples | samples per device and micro-step | {_USER_CONFIG}
config.train.gradient_accumulation_steps | int | | micro-steps per optimizer step | {_USER_CONFIG}
config.train.max_grad_norm | float | | clipping threshold, 0 if clipping is off | {_USER_CONFIG}
config.train.max_steps | int | steps | steps asked for | {_USER_CONFIG}
config.train.epochs | float | | epochs asked for | {_USER_CONFIG}
config.train.logging_steps | int | steps | steps between two rows of the log | {_USER_CONFIG}
config.train.gradient_checkpointing | bool | | activations are recomputed in the backward pass | {_USER_CONFIG}
config.train.group_by_length | bool | | samples of similar length share a batch | {_USER_CONFIG}
config.train.resumed | bool | | the run starts from a checkpoint of an earlier run | {_USER_CONFIG}
config.train.nan_filter | bool | | HF Trainer replaces a NaN loss in its log (logging_nan_inf_filter) | {_USER_CONFIG}
config.train.summed_loss | bool | | the loss is summed, not averaged, over tokens | {_USER_CONFIG}
config.lora.enabled | bool | | only adapters are trained | {_USER_CONFIG}
config.zero.stage | int | | ZeRO stage | {_USER_CONFIG}
config.zero.overlap_comm | bool | | gradient reduction overlaps the backward pass | {_USER_CONFIG}
config.zero.reduce_dtype | str | | dtype of the gradient reduction | {_USER_CONFIG}
config.fp16.static_loss_scale | float | | static loss scale, absent for a dynamic one | {_USER_CONFIG}
config.fp16.initial_scale_power | int | | log2 of the first loss scale | {_USER_CONFIG}
config.fp16.hysteresis | int | | overflows tolerated before the scale falls | {_USER_CONFIG}
config.fp16.min_loss_scale | float | | smallest loss scale allowed | {_USER_CONFIG}
config.fp16.loss_scale_window | int | steps | good steps after which the scale is raised | {_USER_CONFIG}
config.compile.enabled | bool | | torch.compile is on | {_USER_CONFIG}
config.anomaly.enabled | bool | | autograd anomaly mode is on | {_USER_CONFIG}
config.kernels.fused | bool | | fused or patched kernels (Liger, Unsloth, Apex) are in use | {_USER_CONFIG}
config.quantized | bool | | the base weights are quantised (4 or 8 bit) | {_USER_CONFIG}
config.parallel.context | int | | context- or sequence-parallel size | {_USER_CONFIG}
config.parallel.tensor | int | | tensor-parallel size | {_USER_CONFIG}
config.versions.deepspeed | float | | DeepSpeed version as major * 1000 + minor + patch / 1000 (0.17.6 is 17.006) | record pip freeze beside the logs
config.versions.transformers | float | | transformers version as major * 1000 + minor + patch / 1000 | record pip freeze beside the logs
config.versions.torch | float | | torch version as major * 1000 + minor + patch / 1000 | record pip freeze beside the logs
config.versions.trl | float | | TRL version as major * 1000 + minor + patch / 1000 | record pip freeze beside the logs
run.deepspeed | bool | | DeepSpeed runs the steps |
run.hf_trainer | bool | | HF Trainer or a trainer built on it runs the loop |
run.unsloth | bool | | Unsloth patches the model |
run.rl | bool | | the metrics are those of reinforcement learning (rewards, KL) |
run.gpu.name | str | | GPU as named in a log or metadata file | note the output of nvidia-smi beside the logs
run.gpu.compute_capability | float | | CUDA compute capability of that GPU | note the output of nvidia-smi beside the logs
run.gpu.supports_bf16 | bool | | the GPU has bf16 arithmetic (compute capability 8.0 or newer) | note the output of nvidia-smi beside the logs
run.world_size | int | ranks | number of ranks |
run.attempts | int | | launches found in the directory |
run.last_step | int | step | last optimizer step that any metric reports |
run.completed | bool | | the run says that it ended as planned |
run.exit_code | int | | exit code, negative for a signal | keep the launcher's last lines or the scheduler's record
run.log_truncated | bool | | the log ends without an end marker |
signal.loss.seen | bool | | a training loss was logged |
signal.loss.points | int | | points of the training loss |
signal.loss.first | float | | first finite loss |
signal.loss.last | float | | last finite loss |
signal.loss.min | float | | smallest finite loss |
signal.loss.max | float | | largest finite loss |
signal.loss.falls | bool | | median of the last fifth is below the median of the first fifth by more than the noise |
signal.loss.rises | bool | | median of the last fifth is above the smallest fifth by more than 20 % and the noise |
signal.loss.flat | bool | | the loss neither falls nor rises by more than 2 % over at least 20 points |
signal.loss.constant | bool | | every finite loss is the same number |
signal.loss.at_chance | bool | | the loss stays within 1 % of ln(C), the loss of a guess among C classes |
signal.loss.change_ratio | float | | median of the last fifth divided by the median of the first fifth |
signal.loss.growth_before_onset | float | | last finite losses before the first bad step divided by the smallest before them | {_LOG_NORM}
signal.loss.spike_ratio | float | | largest ratio of a finite loss to the median of the five points on each side |
signal.loss.first_above_uniform | bool | | first loss is more than 1.5 times ln(vocabulary): bad weights or inputs from the start | {_MODEL_CONFIG}
signal.loss.diverged | bool | | loss ends at more than 1.5 times its smallest smoothed value and above its start |
signal.loss_zero.share | float | | share of training losses that are exactly 0 |
signal.loss_zero.seen | bool | | at least three training losses are exactly 0 |
signal.loss_zero.mean_is_zero | bool | | the mean loss that the trainer prints at its end is exactly 0: every loss was 0 or a masked NaN | log the loss every few steps
signal.loss_zero.first_step | int | step | first step whose logged loss is exactly 0 |
signal.loss_zero.masks_nan | bool | | the zero is the trainer's mask of a NaN loss: the gradient norm there is not finite or every step is skipped |
signal.loss_zero.with_zero_grad | bool | | the gradient norm at those steps is exactly 0 too: no target took part | {_LOG_NORM}
signal.loss_zero.with_finite_grad | bool | | the gradient norm at those steps is finite and above 0 | {_LOG_NORM}
signal.nonfinite_loss.seen | bool | | a training loss was NaN or infinite, logged or masked | log the loss every step, with logging_nan_inf_filter=False
signal.nonfinite_loss.logged | bool | | a NaN or infinite training loss stands in the log |
signal.nonfinite_loss.masked | bool | | a training loss was NaN but printed as 0 by the trainer |
signal.nonfinite_loss.first_step | int | step | first logged step with a non-finite loss |
signal.nonfinite_loss.earliest_step | int | step | earliest step that can have been the first, given that a printed loss is a mean over a window |
signal.nonfinite_loss.count | int | | non-finite training losses |
signal.nonfinite_loss.share | float | | share of training losses that are not finite |
signal.nonfinite_loss.share_after_onset | float | | share of training losses that are not finite from the first such one on |
signal.nonfinite_loss.from_first_log | bool | | already the first logged loss is not finite |
signal.nonfinite_loss.persists | bool | | no finite loss follows the first bad one |
signal.nonfinite_loss.healthy_steps_before | int | steps | steps with a finite loss before the first bad one |
signal.nonfinite_loss.overcome_by_restart | bool | | an earlier attempt had non-finite losses that a restart has passed since |
signal.nonfinite_grad.seen | bool | | a gradient norm was NaN, infinite or DeepSpeed's -1, or anomaly mode or a guard said so | {_LOG_NORM}
signal.nonfinite_grad.first_step | int | step | first step with a non-finite gradient norm | {_LOG_NORM}
signal.nonfinite_grad.count | int | | non-finite gradient norms | {_LOG_NORM}
signal.nonfinite_grad.share | float | | share of gradient norms that are not finite | {_LOG_NORM}
signal.nonfinite_grad.share_after_onset | float | | share of gradient norms that are not finite from the first such step on | {_LOG_NORM}
signal.nonfinite_grad.from_first_log | bool | | already the first logged gradient norm is not finite | {_LOG_NORM}
signal.nonfinite_grad.healthy_steps_before | int | steps | steps with a finite gradient norm before the first bad one | {_LOG_NORM}
signal.nonfinite_grad.isolated | bool | | at most three non-finite norms in a row, with finite ones before and after | {_LOG_NORM}
signal.nonfinite_grad.recovers | bool | | the last fifth of the gradient norms is finite again | {_LOG_NORM}
signal.nonfinite_grad.with_finite_loss | bool | | the loss of those steps is a genuine finite number, not a mask | log the loss and grad_norm of the same step
signal.nonfinite_grad.harmful | bool | | non-finite gradients make up at least half of the steps from their first on, or end the run |
signal.nonfinite_grad.overcome_by_restart | bool | | an earlier attempt had non-finite norms that a restart has passed since |
signal.grad_norm.seen | bool | | a gradient norm was logged | {_LOG_NORM}
signal.grad_norm.points | int | | points of the gradient norm | {_LOG_NORM}
signal.grad_norm.median | float | | median of the finite norms | {_LOG_NORM}
signal.grad_norm.max | float | | largest finite norm | {_LOG_NORM}
signal.grad_norm.spike_ratio | float | | largest finite norm divided by the median of the finite norms | {_LOG_NORM}
signal.grad_norm.growth_before_onset | float | | median of the last finite norms before the first bad step over the median before them | {_LOG_NORM}
signal.grad_norm.zero_share | float | | share of norms that are exactly 0 | {_LOG_NORM}
signal.grad_norm.zero_with_loss | bool | | at two steps or more the norm is exactly 0 although the loss is finite and above 0 | {_LOG_NORM}
signal.grad_norm.vanishing | bool | | the norm fell by 100 times or more and stays there, without being exactly 0 | {_LOG_NORM}
signal.loss_scale.seen | bool | | the loss scale is known from metrics or messages | {_LOG_SCALE}
signal.loss_scale.first | float | | first loss scale | {_LOG_SCALE}
signal.loss_scale.last | float | | last loss scale | {_LOG_SCALE}
signal.loss_scale.min | float | | smallest loss scale | {_LOG_SCALE}
signal.loss_scale.at_floor | bool | | the scale ends at its configured minimum, or the trainer stopped because of it | {_LOG_SCALE}
signal.loss_scale.floor_step | int | step | step at which it did | {_LOG_SCALE}
signal.loss_scale.overflows | int | | skipped steps reported or implied | {_LOG_SCALE}
signal.loss_scale.overflows_before_floor | int | | overflows counted up to the floor | {_LOG_SCALE}
signal.loss_scale.halvings | int | | times that the scale was lowered | {_LOG_SCALE}
signal.loss_scale.last_halvings_run | int | | halvings in a row, without a rise, at the end of the series | {_LOG_SCALE}
signal.loss_scale.first_overflow_step | int | step | step of the first overflow | {_LOG_SCALE}
signal.loss_scale.last_overflow_step | int | step | step of the last overflow | {_LOG_SCALE}
signal.loss_scale.overflow_share | float | | overflows divided by steps | {_LOG_SCALE}
signal.loss_scale.good_steps_after_last_overflow | int | steps | steps without overflow after the last one | {_LOG_SCALE}
signal.loss_scale.recovers | bool | | at least 10 good steps, or a rise of the scale, follow the last overflow | {_LOG_SCALE}
signal.loss_scale.full_ladder | bool | | every step overflowed from the first on, down to the minimum: initial_scale_power + hysteresis overflows | {_LOG_SCALE}
signal.loss_scale.collapsing | bool | | the scale ends below 128 or at its floor and still falls | {_LOG_SCALE}
signal.loss_scale.pinned_low | bool | | the scale stays at 8 or lower for at least 1000 steps | {_LOG_SCALE}
signal.loss_scale.below_one | bool | | the scale fell below 1: no finite gradient overflows there | {_LOG_SCALE}
signal.learning_rate.seen | bool | | a learning rate was logged |
signal.learning_rate.peak | float | | largest learning rate logged |
signal.learning_rate.zero_share | float | | share of logged learning rates that are exactly 0 |
signal.learning_rate.always_zero | bool | | every logged learning rate is exactly 0 |
signal.learning_rate.frozen | bool | | the learning rate stands still while gradients are not finite, although the schedule moves: steps are skipped |
signal.learning_rate.at_onset_share | float | | learning rate at the first bad step divided by its peak |
signal.learning_rate.full_at_once | bool | | the first logged learning rate is already the peak |
signal.learning_rate.rising_at_onset | bool | | the learning rate was still rising at the first bad step |
signal.skipped_steps.share | float | | slope of the cumulative skipped counter over the last steps | keep DeepSpeed's step=…, skipped=… lines
signal.skipped_steps.total | int | | steps skipped by the counter of the trainer | keep DeepSpeed's step=…, skipped=… lines
signal.onset.step | int | step | first step at which loss or gradient norm was not finite, or at which an overflow began, without recovery; else the first non-finite loss |
signal.onset.when | str | | when trouble began, in words: a step, or an interval where a printed loss is a mean over a window |
signal.onset.what | str | | what is not finite at the onset, in words |
signal.onset.lasting | bool | | the run did not recover from it |
signal.onset.healthy_steps | int | steps | healthy steps before it |
signal.onset.in_first_steps | bool | | trouble began within the first 5 steps or at the first logged point |
signal.onset.after_healthy_stretch | bool | | at least 10 healthy steps came first |
signal.onset.late | bool | | at least 200 healthy steps came first |
signal.eval.nonfinite | bool | | an evaluation loss was NaN or infinite |
signal.eval.points | int | | finite points of the evaluation loss |
signal.eval.loss_first | float | | first evaluation loss |
signal.eval.loss_last | float | | last evaluation loss |
signal.eval.loss_best | float | | best evaluation loss |
signal.eval.rises_while_train_falls | bool | | evaluation loss ends well above its best while the training loss goes on falling | evaluate more often
signal.embedding.seen | bool | | the embedding of a checkpoint was read | {_CHECKPOINT}
signal.embedding.special_row_rms_min | float | | smallest root mean square among the special tokens' rows | {_CHECKPOINT}
signal.embedding.median_row_rms | float | | median root mean square of the ordinary rows | {_CHECKPOINT}
signal.embedding.special_rows_tiny | bool | | a special token's row is smaller than one hundredth of the ordinary rows | look at the special tokens' embedding rows: print the norm of each against the median (or give --checkpoint)
signal.embedding.tiny_rows | int | | special tokens whose row is smaller than one hundredth of the ordinary rows | {_CHECKPOINT}
signal.embedding.ordinary_rows_tiny | bool | | the ordinary rows too have a root mean square below 0.025, where fp16 norms overflow | {_CHECKPOINT}
signal.embedding.tiny_token | str | | special token whose row is smallest | {_CHECKPOINT}
signal.checkpoint.nonfinite_elements | int | | NaN or infinite weights in the checkpoint | {_CHECKPOINT}
signal.checkpoint.dtype | str | | dtype of the stored weights | {_CHECKPOINT}
signal.attention.fully_masked_rows | bool | | an attention row has nothing to attend to | print (attention_mask + causal mask).any(-1) for the failing batch: is a row fully masked
signal.module.first_nonfinite | str | | module in which a hook saw the first NaN or infinity | {_RERUN_HOOK}
signal.module.first_nonfinite_pass | str | | forward or backward: the pass in which that hook ran | {_RERUN_HOOK}
signal.module.activation_absmax | float | | largest activation that a hook printed | {_RERUN_HOOK}
signal.module.activations_near_limit | bool | | a hook printed an activation above 1e4, the warning line of fp16 | {_RERUN_HOOK}
signal.module.forward_nonfinite | bool | | a hook saw NaN or an infinity in the output of a module | {_RERUN_HOOK}
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
compare.twin.given | bool | | a second run that worked was given |
compare.twin.healthy | bool | | that run shows no non-finite values | {_TWIN}
compare.twin.differs_in_precision | bool | | the twin ran in another precision | run a few steps in bf16 or fp32, nothing else changed, and give that run with --twin
compare.twin.differs_in_packing | bool | | the twin packed its samples, or the other way round | run a few steps with packing the other way round and give that run with --twin
compare.twin.differs_in_attention | bool | | the twin used another attention implementation | run a few steps with another attn_implementation and give that run with --twin
compare.twin.differs_in_padding_side | bool | | the twin padded on the other side | run a few steps with padding on the other side and give that run with --twin
compare.twin.differs_in_zero_stage | bool | | the twin used another ZeRO stage | run a few steps on another ZeRO stage and give that run with --twin
compare.twin.differs_in_overlap_comm | bool | | the twin had another overlap_comm | run a few steps with overlap_comm false and give that run with --twin
compare.twin.differs_in_learning_rate | bool | | the twin had another learning rate | run the same stretch at a third of the learning rate and give that run with --twin
compare.twin.differs_in_checkpoint | bool | | the twin started from other weights or had trained special rows | start from another checkpoint (the chat variant) and give that run with --twin
compare.twin.differs_in_compile | bool | | the twin ran without torch.compile, or the other way round | run a few steps without torch.compile and give that run with --twin
compare.twin.differs_in_kernels | bool | | the twin ran with other fused kernels | run a few steps without fused kernels and give that run with --twin
compare.twin.differences | int | | known configuration keys that differ | {_TWIN}
compare.twin.only_difference | str | | the one canonical key that differs, if there is one only | {_TWIN}
compare.twin.first_parting_step | int | step | first step at which the losses of both runs differ by more than 5 % | {_TWIN}
"""

EVENT_FACTS = {
    "seen": ("bool", "such a line was found"),
    "count": ("int", "number of such lines"),
    "first_step": ("int", "first step of such a line"),
    "last_step": ("int", "last step of such a line"),
    "is_last_error": ("bool", "it is the last error line of the log"),
}
_EVENT = re.compile(r"event\.([a-z0-9_]+)\.([a-z0-9_]+)")


def _parse(line: str) -> FactSpec:
    name, dtype, unit, meaning, how = (part.strip() for part in line.split("|"))
    return FactSpec(name, dtype, meaning, unit, how)


@lru_cache(maxsize=1)
def catalog() -> dict[str, FactSpec]:
    """All facts that are listed by name."""
    specs = (_parse(line) for line in _TABLE.strip().splitlines())
    return {spec.name: spec for spec in specs}


def spec_of(name: str) -> FactSpec | None:
    """The declaration of a fact, also of an ``event.<kind>.<field>`` fact; None if there is none."""
    found = catalog().get(name)
    if found is not None:
        return found
    match = _EVENT.fullmatch(name)
    if match is None:
        return None
    kind, fact = match.groups()
    if fact in EVENT_FACTS:
        dtype, meaning = EVENT_FACTS[fact]
        return FactSpec(name, dtype, f"{kind.replace('_', ' ')}: {meaning}")
    return FactSpec(name, "str", f"field {fact!r} of the first {kind.replace('_', ' ')} line")


def suggest(name: str) -> str:
    """The nearest existing name, for an error message; empty if nothing is near."""
    import difflib  # noqa: PLC0415  (only error messages need it)

    near = difflib.get_close_matches(name, catalog(), n=1, cutoff=0.6)
    return near[0] if near else ""
