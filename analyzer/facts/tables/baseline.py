"""Facts about a second run that worked."""

from __future__ import annotations

from analyzer.facts.tables.hows import BASELINE

TABLE = f"""
compare.baseline.given | bool | | a second run that worked was given |
compare.baseline.healthy | bool | | that run shows no non-finite values | {BASELINE}
compare.baseline.differs_in_precision | bool | | the baseline ran in another precision | run a few steps in bf16 or fp32, nothing else changed, and give that run with --baseline
compare.baseline.differs_in_packing | bool | | the baseline packed its samples, or the other way round | run a few steps with packing the other way round and give that run with --baseline
compare.baseline.differs_in_attention | bool | | the baseline used another attention implementation | run a few steps with another attn_implementation and give that run with --baseline
compare.baseline.differs_in_padding_side | bool | | the baseline padded on the other side | run a few steps with padding on the other side and give that run with --baseline
compare.baseline.differs_in_zero_stage | bool | | the baseline used another ZeRO stage | run a few steps on another ZeRO stage and give that run with --baseline
compare.baseline.differs_in_overlap_comm | bool | | the baseline had another overlap_comm | run a few steps with overlap_comm false and give that run with --baseline
compare.baseline.differs_in_learning_rate | bool | | the baseline had another learning rate | run the same stretch at a third of the learning rate and give that run with --baseline
compare.baseline.differs_in_checkpoint | bool | | the baseline started from other weights or had trained special rows | start from another checkpoint (the chat variant) and give that run with --baseline
compare.baseline.differs_in_compile | bool | | the baseline ran without torch.compile, or the other way round | run a few steps without torch.compile and give that run with --baseline
compare.baseline.differs_in_kernels | bool | | the baseline ran with other fused kernels | run a few steps without fused kernels and give that run with --baseline
compare.baseline.differences | int | | known configuration keys that differ | {BASELINE}
compare.baseline.only_difference | str | | the only setting that differs | {BASELINE}
compare.baseline.differs_in_data | bool | | the baseline read another data path | {BASELINE}
compare.baseline.differs_in_versions | bool | | the baseline ran with other library versions | record pip freeze beside both logs
compare.baseline.shared_steps | int | steps | steps whose loss both runs logged | {BASELINE}
compare.baseline.loss_offset | float | | mean difference of the losses as a share, with its sign | {BASELINE}
compare.baseline.loss_difference | float | | mean difference of the losses as a share, without its sign | {BASELINE}
compare.baseline.difference_changes_sign | bool | | now one run is ahead and now the other | {BASELINE}
compare.baseline.apart_from_start | bool | | within the first 10 steps the losses differ by more than 5 % | {BASELINE}
compare.baseline.norm_ratio | float | | gradient norm over that of the baseline, median over rows of equal loss | {BASELINE}
compare.baseline.norms_apart | bool | | at equal losses the gradient norm is larger, or smaller, by a fifth in every row | {BASELINE}
compare.baseline.worse | bool | | the run ends clearly worse than that run: fewer answers right, a higher loss, or a loss that is not finite | {BASELINE}
compare.baseline.score_lost | float | | accuracy of that run at its end minus that of this one | {BASELINE}
compare.baseline.loss_ratio | float | | last held-out loss, else training loss, over that of the other run | {BASELINE}
compare.baseline.rate_ratio | float | | learning rate over that of the other run | {BASELINE}
compare.baseline.worse_at_higher_rate | bool | | it ends clearly worse, at three times the learning rate or more | {BASELINE}
compare.baseline.worse_at_lower_rate | bool | | it ends clearly worse, at 0.4 of the learning rate or less | {BASELINE}
compare.baseline.first_parting_step | int | step | first step at which the losses of both runs differ by more than 5 % | {BASELINE}
"""
