"""Facts about reinforcement learning: rewards, divergence from the reference, and the two engines."""

from __future__ import annotations

from analyzer.facts.tables.hows import USER_CONFIG

_GAP = "log the difference of token probabilities between rollout engine and trainer (verl: rollout_probs_diff; TRL: sampling_logp_difference)"
_EVAL = "score a fixed held-out set every few hundred steps with a measure that the policy is not trained on"

TABLE = f"""
config.rl.sampling_filtered | bool | | generation cuts or reshapes the distribution (top_k, top_p, min_length or a temperature other than 1) | {USER_CONFIG}
config.rl.kl_weight | float | | weight of the divergence from the reference policy | {USER_CONFIG}
config.rl.inner_epochs | int | | passes over one batch of rollouts | {USER_CONFIG}
config.rl.separate_engine | bool | | another engine (vLLM, SGLang) generates the rollouts | {USER_CONFIG}
signal.rl.kl_negative | bool | | the divergence from the reference stays below zero for at least five rows | log the divergence from the reference policy
signal.rl.kl_negative_from_start | bool | | it is below zero within the first rows already | log the divergence from the reference policy
signal.rl.kl_last | float | | level of the divergence from the reference at the end |
signal.rl.kl_exploded | bool | | a divergence (from the reference or of one update) ends 100 times or more above its early level and beyond any usual value | log the divergence of each inner epoch
signal.rl.kl_explosion_step | int | step | step at which it left its usual range |
signal.rl.clip_fraction_last | float | share | clipped samples at the end | log the clip fraction
signal.rl.entropy_collapsed | bool | | entropy falls below a tenth of its start | log the entropy of the policy
signal.rl.reward_points | int | | rows with a mean reward | log the mean reward
signal.rl.reward_first | float | | level of the reward at the start | log the mean reward
signal.rl.reward_last | float | | level of the reward at the end | log the mean reward
signal.rl.reward_rises | bool | | the reward ends above its start by more than its scatter | log the mean reward
signal.rl.reward_falls | bool | | the reward ends below its start and well below its best level | log the mean reward
signal.rl.reward_erratic | bool | | from row to row the reward scatters by more than its own level | log the mean reward
signal.rl.reward_part_falls | bool | | the total reward rises while one of its parts falls | log every reward function by itself
signal.rl.gradient_lost | bool | | rewards differ within groups and every gradient norm is exactly 0 | log reward_std and grad_norm
signal.rl.no_reward_signal | bool | | all samples of a group always get the same reward, so nothing is taught | log reward_std and frac_reward_zero_std
signal.rl.eval_falls | bool | | a held-out score ends well below its best while the reward rises | {_EVAL}
signal.rl.eval_rises | bool | | a held-out score rises with the reward | {_EVAL}
signal.rl.length_ratio | float | | length of the completions at the end over that at the start | log the mean length of completions
signal.rl.clipped_share_last | float | share | completions cut at the length limit, at the end | log the share of truncated completions
signal.rl.engine_gap_large | bool | | rollout engine and trainer give the same tokens clearly different probabilities | {_GAP}
signal.rl.engine_gap_grows | bool | | that difference at least trebles over the run | {_GAP}
signal.rl.engine_gap_from_start | bool | | that difference is large from the first rows on | {_GAP}
signal.policy.reward_best | float | | best level of the reward | log the mean reward
signal.policy.reward_end | float | | level of the last rewards | log the mean reward
signal.policy.reward_same | bool | | from four rows on: the mean reward is the same number in every row | log the mean reward
signal.policy.reward_lost | bool | | the reward ends below its start, and half of its range below its best | log the mean reward
signal.policy.reward_gained | bool | | the reward ends near its best, half of its range and more above its first rows | log the mean reward
signal.policy.reward_slumps | bool | | of a long log: within the last third the level of the reward loses half and more of what had been gained, and a quarter is missing at the end | log the mean reward
signal.policy.reward_stands | bool | | a hundred rows and more within fifteen percent of one level, the first ones among them | log the mean reward
signal.policy.reward_climbs | bool | | the reward ends near its best and above its start | log the mean reward
signal.policy.beyond_trust | bool | | the divergence of one update is five times the usual target, with three of ten samples clipped | log approx_kl and the clip fraction
signal.policy.kl_grows | bool | | the divergence from the reference ends ten times its first value or more, and above 0.02 | log the divergence from the reference policy
signal.policy.entropy_gone | bool | | the entropy ends at a tenth of its start or below 0.02 nats | log the entropy of the policy
signal.policy.value_runs_away | bool | | the loss of the value function (or of Q-learning) grows tenfold, or on in the thousands | log the value loss
signal.policy.part_falls | bool | | one reward function pays less in every row, and at last half, while another pays more | log every reward function by itself
signal.rl.engine_gap_metric | str | | metric that shows it |
"""
