"""Canonical metric names: many spellings, one name and one unit; the original is kept beside the points.

The names, their units and meanings stand in ``metric_names``; ``METRICS`` gives them to whoever documents
or checks them. A spelling that no row holds is read by its words (``name_words``), which is a guess. Learning rates of further parameter groups are ``learning_rate_group_<n>``, n from 1.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import read_memory, read_name, words_of

# The table of metric names: what trainers and trackers call a quantity, and what it is called here.
#
# A row is ``name | unit | meaning | spellings``. Spellings are compared in lower case. ``*0.001`` after a
# spelling converts its unit to that of the name: a log that prints milliseconds becomes seconds.
# Names that no row holds stay as they are, in lower case.
TABLE = """
loss | | training loss, as printed: of one step or a mean over some | loss, train_loss, train/loss, lm_loss, lm loss, train_loss_step, training_loss, batch_loss, train_batch_loss, loss/train, loss/loss_train, losses/train, losses/total_loss, total_loss, epoch_loss, step_loss, nll_loss_step, loss_step, avg_loss, mean_loss, running_loss, reduced_train_loss, global_avg_loss, loss_metrics/global_avg_loss, learning/loss, model_loss, ce_loss, cross_entropy, lm_loss_value, train/crossentropyloss, reduced_llm_loss, actor/loss, average_loss, average_train_loss, avg_train_loss, average_training_loss, loss_avg, loss_total, loss_function, loss function
train_loss_mean | | mean training loss of the whole run, logged once at its end | train/train_loss, train_loss_mean
train_loss_estimate | | loss on training data, measured apart from training | train_loss_estimate
eval_loss | | loss on held-out data | eval_loss, val_loss, valid_loss, validation_loss, eval/loss, val/loss, valid/loss, validation/loss, val_loss_epoch, validation_loss_epoch, test_loss, test/loss, loss/val, loss/loss_validation, loss/eval, loss/valid, eval_lm_loss, lm loss validation, dev_loss, reduced_val_loss, cv_loss, eval/crossentropyloss, val_loss_step, loss/test, validation/main/loss, validation_metrics/loss, evaluation_loss, val/loss_epoch, average_val_loss, avg_val_loss, vali_loss, validation_loss_avg
grad_norm | | norm of the gradient before clipping | grad_norm, gradient_norm, grad-norm, grad norm, gnorm, total_norm, global_grad_norm, gradnorm, grad_norm_total, grad_2.0_norm_total, norm, gradient norm, grad_l2_norm, global_norm, total_grad_norm, learning/grad_norm, grad_norm/total, optim/total_grad_norm, actor/grad_norm, actor_grad_norm, policy_grad_norm, gradients/total_norm, l2_grad_norm
learning_rate | | learning rate of the first parameter group | learning_rate, lr, learning-rate, learning rate, lr-adamw, learning/current_learning_rate, base_lr, optim/lr, current_lr, optim0_lr0, actor/lr, actor_lr, policy_lr, lr/policy, lr_scheduler/lr, x/lr0, optimizer/lr, train_lr, train_learning_rate
loss_scale | | scale of the loss in mixed precision | loss_scale, loss-scale, loss scale, loss_scaler, scale, grad_scale, amp_scale, scaler/scale, cur_scale, loss_scaler_scale, fp16_scale, optim/loss_scale
skipped_steps | steps | optimizer steps that the scaler skipped so far | skipped_steps, skipped, skipped_iters, number of skipped iterations
nan_iterations | steps | iterations since the last row that were skipped for a loss that is not finite | number of nan iterations
skipped_loss_spikes | steps | batches that were left out because their loss jumped | skipped_loss_spikes
accuracy | share or percent | accuracy on training data | accuracy, acc, epoch_accuracy, epoch_acc, train_accuracy, train/acc, train_acc, acc1, top1_acc, token_accuracy, mean_token_accuracy, training_accuracy, training_acc
eval_accuracy | share or percent | accuracy on held-out data | eval_accuracy, val_accuracy, val_acc, valid_acc, valid_accuracy, eval/accuracy, eval_acc, eval/acc, val/acc, val/accuracy, test_acc, test_accuracy, test/acc, test/accuracy, validation_accuracy, val_acc1, test_acc1, val_top1, eval_top1, accuracy/top1, val/accuracy/top1, eval_mean_token_accuracy, dev_acc, dev_accuracy, evaluation_accuracy, validation_acc, val/top1, val/acc1, vacc, v_acc
perplexity | | exp of the training loss | perplexity, ppl, train_perplexity, train_ppl, learning/perplexity, training_perplexity
eval_perplexity | | exp of the loss on held-out data | eval_perplexity, val_perplexity, val_ppl, eval_ppl, valid_ppl, valid_perplexity, test_ppl, test_perplexity, eval/perplexity, val/perplexity, lm loss validation ppl, validation_perplexity, validation_ppl
aux_loss | | loss that balances the experts of a mixture | aux_loss, moe_aux_loss, load_balancing_loss, load balancing loss, router_aux_loss, moe loss, moe_loss, lbl, train/load balancing loss
z_loss | | penalty on large logits | z_loss, moe_z_loss, router_z_loss, train/zloss, zloss
epoch | epochs | epochs done | epoch
weight_norm | | norm of all parameters | params-norm, params norm, weight_norm, param_norm, learning/param_norm, params_norm, model_norm
num_zeros | | gradient entries that are exactly zero | num zeros, num-zeros
step_time_s | s | wall time of one optimizer step | step_time_s, step_time, iteration-time, iter_time, iter time, time_per_step, iteration_time, seconds_per_step, sec_per_step, time_per_iteration, perf/step_time_seconds, perf/step_time, timing_s/step, perf/time_per_step, train_step_timing in s, train_step_timing_in_s, iter time (s), elapsed_time_per_iteration, train/step_time, trainer/step_time, time/step, step_time_ms*0.001, elapsed time per iteration (ms)*0.001, iteration_time_ms*0.001, elapsed_time_per_iteration_ms*0.001, step_time (ms)*0.001, time_ms_per_step*0.001, per_step_time_ms*0.001, train_step_time_ms*0.001, dt_ms*0.001, avg_batch_cost, batch_cost, sec/step, s/step, secs_per_step, sec/iter, seconds/step, step_duration
data_time_s | s | time that a step waited for data | data_time_s, data_time, data_wait, data_load_time, data_loading_time, dataloader_time, avg_reader_cost, reader_cost, data_wait_time, time/data, timing_s/data, perf/data_time, data_loading_s, batch_load_time, time_metrics/data_loading(s), throughput/device/data_loading_time, data_time_ms*0.001, data_loading_ms*0.001, batch-generator_ms*0.001
forward_time_s | s | time of the forward pass of a step | forward_time_s, forward_time, fwd_time, forward_time_ms*0.001, fwd_ms*0.001, forward-compute_ms*0.001
backward_time_s | s | time of the backward pass of a step | backward_time_s, backward_time, bwd_time, backward_time_ms*0.001, bwd_ms*0.001, backward-compute_ms*0.001
allreduce_time_s | s | time of a step in gradient communication that nothing hides | allreduce_time_s, allreduce_ms*0.001, all-grads-sync_ms*0.001, backward-params-all-reduce_ms*0.001
optimizer_time_s | s | time of the optimizer in a step | optimizer_time_s, optimizer_ms*0.001, optim_step_time, optimizer_time, optimizer_step_time, timing_s/update_actor, optimizer_ms*0.001, optimizer_time_ms*0.001
allreduce_time_s | s | time in which a step waited for the exchange of gradients | allreduce_time_s, allreduce_time, backward-allreduce_ms*0.001, bwd_allreduce_ms*0.001, grads-all-reduce_ms*0.001, allreduce_ms*0.001
generation_time_s | s | time in which a step generated text to learn from | generation_time_s, timing_s/gen, timing_s/generate_sequences, generate_time, timing/generation, profiling/time/grpotrainer.transformers.generate
checkpoint_save_s | s | time that saving a checkpoint took | checkpoint_save_s, checkpoint_save_time, save_checkpoint_time, save-checkpoint_ms*0.001, save-checkpoint-time*0.001, timing_s/save_checkpoint, checkpoint/save_time
eval_time_s | s | time that an evaluation took | eval_time_s, eval_runtime, timing_s/testing, evaluation_time
tokens_per_second | tokens/s | throughput of all devices | tokens_per_second, tokens_per_sec, tokens/s, tokens/sec, tok/s, train_tokens_per_second, tokens_per_second_total, perf/tokens_per_second, throughput/tokens_per_second, tok_per_sec, toks/s, perf/total_tokens_per_second, tps_total, wps, tok/sec, toks/sec, tokens/second
tokens_per_second_per_gpu | tokens/s | throughput of one device | tokens_per_second_per_gpu, tokens_per_sec_per_gpu, tokens/s/device, tokens/s/gpu, tgs, tps, throughput(tps), tokens_per_gpu_per_second, perf/throughput, perf/per_device_tokens_per_sec, interval_tokens_per_second_per_device, throughput/device/tokens_per_second, train/tokens_per_second_per_gpu, tgs (tokens/gpu/second), tokens per gpu per second (tgs)
samples_per_second | samples/s | throughput of all devices | samples_per_second, samples/sec, samples_per_sec, samples/s, samples per second, train_samples_per_second, interval_samples_per_second, ips, images_per_second, images/s, img/s, throughput/samples_per_second, global_throughput, samplespersec, perf/samples_per_second, train/samples_per_second
steps_per_second | steps/s | optimizer steps per second | steps_per_second, train_steps_per_second, interval_steps_per_second, steps_per_sec, steps/sec, it/s, ups, iterations_per_second, steps/s, throughput/batches_per_second, throughput/device/batches_per_second
tflops_per_gpu | TFLOP/s | arithmetic throughput of one device | tflops_per_gpu, tflops, tflop/s/device, throughput per gpu (tflop/s/gpu), model_tflops_per_gpu, perf/per_device_tflops_per_sec, tflops per gpu, train/tflops, throughput/flops_per_sec
mfu | share or percent | used part of the arithmetic peak of the devices | mfu, model_flops_utilization, perf/mfu, perf/mfu/actor, mfu/actor, throughput/mfu, throughput/device/mfu, train/mfu, mfu(%), mfu (%)
gpu_memory_allocated_gib | GiB | memory that tensors hold on a device | gpu_memory_allocated_gib, perf/max_memory_allocated_gb, memory_allocated_gb, mem_allocated_gb, memallocated, peak_memory_alloc, current_memory_allocated, vram_allocated
gpu_memory_reserved_gib | GiB | memory that the allocator holds on a device | gpu_memory_reserved_gib, perf/max_memory_reserved_gb, memory_reserved_gb, mem_reserved_gb, current_memory_reserved, peak_memory_reserved, vram_reserved, memory/max_reserved(gib)
gpu_memory_peak_gib | GiB | most memory that tensors have held on a device | gpu_memory_peak_gib, maxmemallocated, peak_memory_active, max_memory_allocated_gb, max_memory_allocated, memory/max_active(gib), peak_memory_gb, memory/max_active_gib
host_memory_gib | GiB | memory of the host in use | host_memory_gib, perf/cpu_memory_used_gb
reward_mean | | mean reward or return of the sampled episodes | reward, rewards, reward_mean, mean_reward, reward/mean, rewards/mean, env_reward, critic/score/mean, objective/rlhf_reward, ppo/mean_scores, rollout/ep_rew_mean, ep_rew_mean, ep_rewmean, ep_reward_mean, mean 100 episode reward, episode_reward_mean, eprewmean, averageepret, avg_reward, average_reward, env_runners/episode_return_mean, env_runners/episode_reward_mean, episode_return_mean, mean reward, charts/episodic_return, reward/train, rollout/return, return, mean_return, avg_return, average_return, averagereturn, return_mean, return/mean, episode_return, ep_return, episodic_return, mean_episode_return, average_episode_return, train/return, environment/cumulative reward
reward_std | | spread of the rewards in a group or batch | reward_std, reward/std, rewards/std, ppo/std_scores
frac_reward_zero_std | share | groups whose rewards are all equal and so teach nothing | frac_reward_zero_std
kl | | divergence from the reference policy | kl, objective/kl, kl_div, mean_kl, kl_divergence, actor/kl, actor/ref_kl, actor/reward_kl_penalty, reward_kl_penalty, kl/mean, kl_mean, actor/kl_mean, kl_avg, kl_ref
kl_loss | | penalty for the divergence from the reference policy | kl_loss, actor/kl_loss
approx_kl | | divergence of the policy from the one that sampled | approx_kl, policy/approxkl_avg, ppo_kl, actor/ppo_kl, ppo/policy/approxkl, approxkl, train/approx_kl, losses/approx_kl
entropy | nats | entropy of the policy | entropy, policy/entropy_avg, actor/entropy, actor/entropy_loss, objective/entropy, ppo/policy/entropy, policy_entropy, policy/entropy, entropy/mean, losses/entropy
clip_fraction | share | samples whose probability ratio was clipped | clip_fraction, clip_ratio, clip_ratio/region_mean, policy/clipfrac_avg, clipfrac, actor/pg_clipfrac, ppo/policy/clipfrac, pg_clipfrac, losses/clipfrac, actor_clip_ratio
entropy_loss | | bonus for the entropy of the policy as a part of the loss, usually its negative | entropy_loss, train/entropy_loss, losses/entropy_loss
policy_loss | | loss of the policy | policy_loss, pg_loss, actor/pg_loss, policy_gradient_loss, loss/policy_avg, actor_loss, ppo/loss/policy, act_loss, losses/policy_loss, losses/policy loss, surrogate loss, losspi
value_loss | | loss of the value function | value_loss, vf_loss, critic/vf_loss, loss/value_avg, critic_loss, cri_loss, ppo/loss/value, losses/value_loss, losses/value loss, value function loss, lossv
explained_variance | | variance of the returns that the value function explains; not a number while returns are constant | explained_variance, critic/vf_explained_var, ppo/val/var_explained, losses/explained_variance, vf_explained_var
completion_length_mean | tokens | mean length of the sampled completions | completions/mean_length, completion_length, response_length/mean, response_length, completion_length/mean, completions/mean_completion_length, completion_length_mean
completion_clipped_share | share | completions that were cut at the length limit | completions/clipped_ratio, response_length/clip_ratio, clipped_ratio, truncated_ratio
episode_length_mean | steps | mean length of the sampled episodes | episode_length_mean, eplenmean, rollout/ep_len_mean, ep_len_mean, episode_len_mean, mean episode length, env_runners/episode_len_mean, charts/episodic_length
""".strip()


class Metric(NamedTuple):
    """What a canonical name means.

    Attributes:
        unit: Unit, empty if it has none.
        meaning: What is measured, in a few words.
    """

    unit: str
    meaning: str


def _read(table: str) -> tuple[dict[str, Metric], dict[str, str], dict[str, float]]:
    """Metrics by name, names by spelling, and factors of the spellings that have another unit."""
    metrics: dict[str, Metric] = {}
    names: dict[str, str] = {}
    factors: dict[str, float] = {}
    for row in table.splitlines():
        name, unit, meaning, spellings = (cell.strip() for cell in row.split("|"))
        metrics[name] = Metric(unit, meaning)
        for spelling in spellings.split(", "):
            plain, _, factor = spelling.partition("*")
            names[plain] = name
            if factor:
                factors[plain] = float(factor)
    return metrics, names, factors


METRICS, _EXACT, _FACTORS = _read(TABLE)

# Prefixes that trackers add in front of a trainer's own name; stripped until nothing changes.
_PREFIX = LazyRegex(
    r"^(?:train/samples|train|training|trainer|train_metrics|global|scalars|metrics|optim|opt|misc|debug)[/.]"
)
_RATE_OF_GROUP = LazyRegex(
    r"^(?:x/|optim0_|optim/)?(?:lr|learning_rate)[-_/]?(?:[a-z]\w{0,20}/)?(?:(?P<from_one>pg)|group[_-]?)?(?P<group>\d{1,3})$"
)


@lru_cache(maxsize=4096)
def canonical_metric(name: str) -> str:
    """Canonical name of a logged metric; the lower-cased name itself if it has no canonical one.

    ``train/train_loss`` is the mean that HF Trainer logs once at its end, not a point of the loss curve.

    >>> canonical_metric("train/grad_norm"), canonical_metric("Train/Samples/train_loss")
    ('grad_norm', 'loss')
    >>> canonical_metric("eval/loss"), canonical_metric("rewards/chosen")
    ('eval_loss', 'rewards/chosen')
    >>> canonical_metric("lr-AdamW/pg1"), canonical_metric("lr-AdamW/pg2")
    ('learning_rate', 'learning_rate_group_1')
    """
    lowered = name.strip().lower()
    known = _known(lowered)
    if known is not None:
        return known[0]
    return _guessed(name) or lowered


def _guessed(name: str) -> str:
    """Canonical name by the words of a name, empty if they do not tell it."""
    if name.startswith("epoch/"):  # how readers here keep means of epochs apart from the points of steps
        return ""
    if memory := read_memory(name):
        return memory[0]
    canonical = read_name(name.strip()).canonical
    return "" if "%" in name and canonical.endswith("_time_s") else canonical


def is_guess(name: str) -> bool:
    """Whether only the words of a name say what it is called here.

    >>> is_guess("train_loss"), is_guess("Loss/validation"), is_guess("mystery")
    (False, True, False)
    """
    return _known(name.strip().lower()) is None and bool(_guessed(name))


@lru_cache(maxsize=4096)
def unit_factor(name: str) -> float:
    """What a logged value is multiplied by to have the unit of its canonical name.

    >>> unit_factor("elapsed time per iteration (ms)"), unit_factor("step_time")
    (0.001, 1.0)
    """
    known = _known(name.strip().lower())
    if known is not None:
        return _FACTORS.get(known[1], 1.0)
    if memory := read_memory(name):
        return memory[1]
    canonical = _guessed(name)
    return 1e-3 if canonical.endswith("_time_s") and "ms" in words_of(name) else 1.0


def _known(lowered: str) -> tuple[str, str] | None:
    """Canonical name of a lower-case name, and the spelling of the table that it is."""
    stripped = lowered
    while stripped not in _EXACT and (shorter := _PREFIX.sub("", stripped, count=1)) != stripped:
        stripped = shorter
    if stripped not in _EXACT and " " in stripped:  # headers of tables: "Training Loss"
        stripped = stripped.replace(" ", "_")
    if stripped in _EXACT:
        return _EXACT[stripped], stripped
    if match := _RATE_OF_GROUP.match(stripped):
        group = int(match["group"]) - (1 if match["from_one"] else 0)
        return ("learning_rate" if group <= 0 else f"learning_rate_group_{group}"), stripped
    return None
