"""Scores, players, collapses, policies over few rows and pace: what is told, and the look-alike that is left alone."""

import math

import pytest
from make_run import RunMaker


def facts(**columns):
    run = RunMaker().log({name.replace("__", "/"): values for name, values in columns.items()})
    return {name: fact.value for name, fact in run.facts().items()}


SCATTER = [-150.0 + 90.0 * math.sin(1.7 * i * i) for i in range(2000)]
"""Episodes of a policy that never learns, in no order."""
CLIMBS = [0.7 * 0.8**i for i in range(10)]
FALLING = [2.0 * 0.8**i for i in range(8)]
LONG = [2.0 * 0.8**i for i in range(12)]
RISING = [0.5 + 0.05 * i for i in range(8)]


@pytest.mark.parametrize(
    ("columns", "name", "value"),
    [
        ({"loss": FALLING, "val_acc": RISING, "val_dice": [0.0] * 8}, "signal.score.rare_never_found", True),
        ({"loss": FALLING, "val_acc": RISING, "val_dice": RISING}, "signal.score.rare_never_found", False),
        ({"loss": FALLING, "val_dice": [0.0] * 8}, "signal.score.rare_never_found", True),
        ({"loss": FALLING, "val_recall": [0.0] * 8, "val_map50": [0.0] * 8}, "signal.score.rare_never_found", False),
        ({"loss": FALLING, "val_recall": [0.0] * 8}, "signal.score.rare_never_found", False),  # of what was looked up
        ({"loss": FALLING, "mIoU": [0.4876] * 8, "pixAcc": [0.9752] * 8}, "signal.score.rare_never_found", True),
        ({"loss": FALLING, "mIoU": RISING, "pixAcc": [0.9752] * 8}, "signal.score.rare_never_found", False),
        ({"loss": FALLING, "mIoU": [0.0372] * 8, "pixAcc": [0.7815] * 8}, "signal.score.rare_never_found", True),
        ({"loss": FALLING, "mIoU": [0.0372, *[0.0373] * 7], "pixAcc": [0.7815, *[0.783] * 7]}, "signal.score.rare_never_found", False),
        ({"loss": FALLING, "val_dice": [0.0, 0.02, 0.1, 0.11, 0.1]}, "signal.score.hardly_found", True),
        ({"loss": FALLING, "val_dice": [0.0, 0.02, 0.1, 0.3, 0.4]}, "signal.score.hardly_found", False),
        ({"loss": FALLING, "dice": [0.9, 0.4, 0.2, 0.1, 0.1]}, "signal.score.hardly_found", False),  # a Dice loss
        ({"loss": FALLING, "val_acc": [0.51] * 8, "recall": [0.0] * 8}, "signal.score.rare_never_found", False),
        ({"loss": FALLING, "val_acc": [0.57318] * 8}, "signal.score.frozen_while_loss_falls", True),
        ({"loss": FALLING, "val_acc": [0.9733] * 8}, "signal.score.frozen", False),
        ({"loss": LONG, "val_dice": [0.21, 0.38, 0.614327] + [0.614327] * 9}, "signal.score.still_at_end", True),
        ({"loss": LONG, "val_dice": [0.21, 0.38, 0.614327] + [0.614328] * 9}, "signal.score.still_at_end", False),
        ({"loss": LONG, "val_dice": [0.21, 0.38, 0.625] + [0.625] * 9}, "signal.score.still_at_end", False),
        ({"loss": LONG, "val_dice": [0.21, 0.38, 0.974327] + [0.974327] * 9}, "signal.score.still_at_end", False),
        ({"loss": FALLING, "val_acc": RISING, "ema_acc": [0.11111] * 8}, "signal.score.frozen_while_loss_falls", True),
        ({"loss": FALLING, "val_acc": RISING, "ema_acc": RISING}, "signal.score.frozen", False),
        ({"loss": FALLING, "val_wer": [39.0, 80.0, 154.0]}, "signal.score.error_beyond_all", True),
        ({"loss": FALLING, "val_wer": [0.9, 0.5, 0.3]}, "signal.score.error_beyond_all", False),
        ({"loss": FALLING, "val_wer": [100.4, 99.2, 100.6]}, "signal.score.error_beyond_all", False),  # nothing right
        ({"loss": FALLING, "train_f1": [0.6, 0.8, 0.9], "val_f1": [0.5, 0.5, 0.51]}, "signal.score.parted", True),
        ({"loss": FALLING, "train_f1": [0.6, 0.8, 0.9], "val_f1": [0.6, 0.7, 0.8]}, "signal.score.parted", False),
        ({"f1": [0.7, 0.8, 0.84], "macro_f1": [0.4, 0.5, 0.54], "val_f1": [0.7, 0.74], "val_macro_f1": [0.37, 0.4]}, "signal.score.parted", False),
        ({"f1": [0.7, 0.8, 0.84], "macro_f1": [0.4, 0.6, 0.74], "val_f1": [0.7, 0.74], "val_macro_f1": [0.37, 0.4]}, "signal.score.parted", True),
        ({"acc_old": [0.9, 0.95, *[0.3] * 6], "acc_new": RISING}, "signal.score.forgotten", True),
        ({"acc_old": RISING, "acc_new": RISING}, "signal.score.forgotten", False),
        ({"acc_old": [0.9, 0.95, *[0.3] * 6], "loss": FALLING}, "signal.score.forgotten", True),
        ({"val_acc": [0.9, 0.95, *[0.3] * 6], "loss": FALLING}, "signal.score.forgotten", None),
        ({"top1_acc": RISING, "top5_acc": [0.5 * v for v in RISING]}, "signal.metric.ranks_reversed", True),
        ({"top1_acc": [0.5 * v for v in RISING], "top5_acc": RISING}, "signal.metric.ranks_reversed", False),
        ({"top1_error": RISING, "top5_error": [0.5 * v for v in RISING]}, "signal.metric.ranks_reversed", None),
        ({"loss": FALLING, "val_ap": [0.0], "val_ar": [0.0]}, "signal.score.none_yet", True),
        ({"loss": FALLING, "val_ap": [0.0], "val_ar": [0.1]}, "signal.score.none_yet", False),
        ({"loss": FALLING, "val_ap": [0.0, 0.1], "val_ar": [0.0]}, "signal.score.none_yet", None),
        ({"loss": FALLING, "mean_dice": [0.02]}, "signal.score.none_yet", True),
        ({"loss": FALLING, "mean_dice": [0.4]}, "signal.score.none_yet", False),
        ({"val_ap": [0.0]}, "signal.score.none_yet", True),
        ({"loss": FALLING, "val_ap": [0.0]}, "signal.score.none_yet", False),
        ({"mAP@50": RISING, "mAP@75": [0.5 * v for v in RISING]}, "signal.metric.ranks_reversed", None),
        ({"loss": FALLING, "mmlu": [0.62 - 0.04 * i for i in range(8)]}, "signal.score.general_lost", True),
        ({"loss": FALLING, "eval__gsm8k": [0.51, 0.50, 0.52, 0.51]}, "signal.score.general_lost", False),
        ({"loss": [2.0] * 8, "mmlu": [0.62 - 0.04 * i for i in range(8)]}, "signal.score.general_lost", False),
        ({"train_f1": [0.5, 0.6, 0.7, 0.9, 1.0, 1.0], "val_f1": [0.98] * 6}, "signal.score.held_out_stands", False),
        ({"train_f1": [0.7, 0.8, *[0.99] * 6], "val_f1": [0.8, 0.82, *[0.83] * 6]}, "signal.score.held_out_stands", True),
        ({"train_f1": [0.8, 0.93, *[0.99] * 6], "val_f1": [0.8, 0.88, *[0.9] * 6]}, "signal.score.held_out_stands", False),
        ({"val_err-top1": [0.9, 0.7, 0.5, 0.4, 0.35, 0.3, 0.28, 0.27]}, "signal.score.collapsed", False),
        ({"val_map": [0.5, 0.0, 0.001, 0.002, 0.001, 0.002, 0.001]}, "signal.score.collapsed", False),
        ({"val_map": [0.3, 0.5, 0.001, 0.002, 0.001, 0.002, 0.001]}, "signal.score.collapsed", True),
        ({"val_err-top1": [0.9, 0.5, 0.3, 0.3, 0.3, 0.9, 0.95, 0.97]}, "signal.score.collapsed", True),
        ({"loss": FALLING, "val_err-top1": [0.1, 0.02, 0.015, 0.01]}, "signal.score.hardly_right", False),
        ({"accuracy": [float("nan")] * 8, "eval_accuracy": [0.3, 0.5, 0.7, 0.76]}, "signal.exact.nonfinite_training", None),
        ({"accuracy": [float("nan")] * 8, "eval_accuracy": [0.3, 0.3, 0.3, 0.3]}, "signal.exact.nonfinite_training", True),
        ({"loss": [0.69, 0.6, 0.53, 0.53], "accuracy": [0.5, 0.7, 0.74, 0.745], "eval_loss": [0.6, 0.56, 0.54, 0.534], "eval_accuracy": [0.6, 0.7, 0.72, 0.731]}, "signal.chance.held_out", False),
        ({"Loss/G/loss": [3.0, 2.0, 1.6, 1.5, 1.5], "Metrics/fid50k_full": [float("nan")] * 5}, "signal.exact.nonfinite_training", False),
        ({"Metrics/fid50k_full": [float("nan")] * 5}, "signal.exact.nonfinite_training", True),
        ({"loss": [3.0, 2.0, 1.6, 1.5], "grad_norm": [5.0, 3.0, 2.0, 2.0], "epoch/grad_norm_avg": [float("inf")] * 4}, "signal.exact.nonfinite_training", None),
        ({"loss": [3.0, 2.0, 1.6, 1.5], "epoch/grad_norm_avg": [float("inf")] * 4}, "signal.exact.nonfinite_training", True),
        ({"ema_loss": [float("nan")] * 5, "depth": [0.3, 0.4, 0.5, 0.4, 0.3]}, "signal.exact.nonfinite_training", True),
        ({"ema_speed": [float("nan")] * 5, "depth": [0.3, 0.4, 0.5, 0.4, 0.3]}, "signal.exact.all_finite", True),
        ({"loss": [3.0, 2.0, 1.6, 1.5, 1.5], "test_mape": [0.2, 0.1, float("inf"), 0.1, 0.1]}, "signal.exact.all_finite", True),
        ({"loss": [3.0, 2.0, 1.6, 1.5, 1.5], "test_mape": [0.2, 0.1, float("inf"), 0.1, 0.1]}, "signal.metric.nan_of_targets", True),
        ({"loss": [3.0, 2.0, 1.6, 1.5, 1.5], "test_mae": [0.2, 0.1, float("inf"), 0.1, 0.1]}, "signal.metric.nan_of_targets", None),
        ({"surrogate loss": [14.0, 8.0, 6.0, 4.0, 3.0], "KL divergence": [float("nan")] * 5}, "signal.exact.nonfinite_training", True),
        # an error rate stands for the loss that nobody printed, and is lost as one
        ({"error_rate": [0.99, 0.8, 0.7, 0.62, 0.58, 0.55, 0.54, 1.05, 0.95, 0.88, 0.84, 0.8, 0.78, 0.76, 0.75, 0.75]}, "signal.progress.kept", False),
        ({"error_rate": [0.99, 0.8, 0.7, 0.62, 0.58, 0.55, 0.54, 0.53, 0.52, 0.51, 0.5, 0.5, 0.49, 0.49, 0.48, 0.48]}, "signal.progress.kept", True),
        # step by step to four of five, and a leap from one answer for all to another
        ({"loss": CLIMBS, "eval_accuracy": [0.48, 0.55, 0.62, 0.68, 0.72, 0.75, 0.78, 0.79, 0.8, 0.8]}, "signal.chance.held_out", False),
        ({"loss": CLIMBS, "eval_accuracy": [0.2, *[0.79] * 9]}, "signal.chance.held_out", True),
        ({"val_f1": [0.82, 0.86, 0.89, 0.91, 0.92, 0.92]}, "signal.progress.score_points", 6),
        ({"val_f1": [0.82, 0.84, 0.86, 0.86, 0.86, 0.86]}, "signal.progress.score_points", None),
        ({"loss": FALLING, "acc_seg": [100.0] * 8}, "signal.score.perfect_at_once", True),
        ({"loss": FALLING, "acc_seg": [20.0, 70.0, 95.0, *[100.0] * 5]}, "signal.score.perfect_at_once", False),
        # an easy task: a guess at the first evaluation, all of it known from the second on
        ({"loss": FALLING, "eval_acc": [0.46, *[1.0] * 7]}, "signal.score.perfect_at_once", False),
        ({"loss": FALLING, "top1_err": [3.1, *[0.0] * 7]}, "signal.score.perfect_at_once", True),
        ({"loss": FALLING, "val_auc": [1.0] * 8}, "signal.score.perfect_held_out", True),
        ({"loss": FALLING, "val_auc": [0.493, 0.4896]}, "signal.score.ranks_like_a_guess", True),
        ({"loss": FALLING, "val_auc": [0.52, 0.61]}, "signal.score.ranks_like_a_guess", False),
        ({"loss": FALLING, "auc": [0.56, 0.53, 0.51, 0.51, 0.505, 0.504, 0.506, 0.505]}, "signal.score.ranks_like_a_guess", True),
        ({"loss": FALLING, "auc": [0.5, 0.51, 0.51, 0.52, 0.53, 0.54, 0.55, 0.56]}, "signal.score.ranks_like_a_guess", False),
        ({"loss": FALLING, "val_auc": [0.982, 0.465]}, "signal.score.lost", True),
        # the highest value is the first, from which nothing rose
        ({"loss": [4.6, 0.24, 0.03, 0.07]}, "signal.progress.peak_over_first", 1.0),
        ({"loss": [1.0, 0.9, 50.0, 0.4]}, "signal.progress.wild_rows", 1),
        ({"loss": FALLING, "val_auc": [0.98, 0.93]}, "signal.score.lost", None),
        ({"loss": FALLING, "loss_box_reg": [0.0] * 8}, "signal.data.part_without_value", True),
        ({"loss": FALLING, "loss_box_reg": [0.0] * 7 + [0.1]}, "signal.data.part_without_value", None),
        ({"loss": FALLING, "aux_loss": [0.0] * 8}, "signal.data.part_without_value", None),
        (
            {"loss": [0.52 + 3 * 0.5**i for i in range(12)], "pde_loss": [3 * 0.5**i for i in range(12)], "bc_loss": [0.52] * 12},
            "signal.data.part_stands",
            True,
        ),
        (
            {"loss": [0.52 + 3 * 0.5**i for i in range(12)], "reg_loss": [0.52] * 12},
            "signal.data.part_stands",
            None,
        ),
        (
            {"loss": [0.52 + 3 * 0.5**i for i in range(12)], "reg_loss": [0.1] * 12, "bc_loss": [0.42 + 3 * 0.5**i for i in range(12)]},
            "signal.data.part_stands",
            None,
        ),
        (
            {"loss": [0.3 + 2 * 0.5**i for i in range(12)], "pde_loss": [0.15 + 1.96 * 0.5**i for i in range(12)], "ic_loss": [0.15 - 0.12 * 0.7**i for i in range(12)]},
            "signal.data.part_traded",
            True,
        ),
        (
            {"loss": [0.3 + 2 * 0.5**i for i in range(12)], "rec_loss": [0.15 + 1.96 * 0.5**i for i in range(12)], "kl_loss": [0.15 - 0.12 * 0.7**i for i in range(12)]},
            "signal.data.part_traded",
            None,
        ),
        ({"loss_d": [0.5, *[0.004] * 7], "loss_g": [1.0, *[6.0] * 7]}, "signal.gan.discriminator_won", True),
        ({"loss_d": [1e-6, 0.0], "loss_g": [15.4, 15.4]}, "signal.gan.discriminator_won", True),
        ({"loss_d": [*[0.001] * 30, *[50.0] * 10], "loss_g": [*[8.0] * 30, *[0.0] * 10]}, "signal.gan.discriminator_won", True),
        ({"loss_d": [*[0.001] * 30, *[0.7, 0.6, 0.8] * 10], "loss_g": [*[8.0] * 30, *[1.0, 1.2, 0.9] * 10]}, "signal.gan.discriminator_won", False),
        ({"loss_d": [*[0.4] * 60, *[0.08] * 20, *[0.04, 0.05] * 10], "loss_g": [*[2.0] * 60, *[4.0, 4.2] * 20]}, "signal.gan.discriminator_won", True),
        ({"loss_d": [*[0.4] * 60, *[0.08, 0.09] * 20], "loss_g": [*[2.0] * 60, *[4.0, 4.2] * 20]}, "signal.gan.discriminator_won", False),
        ({"loss_d": [0.03, 0.02], "loss_g": [5.4, 5.5]}, "signal.gan.discriminator_won", None),
        ({"errD": [0.6] * 8, "errG": [1.1] * 8}, "signal.gan.discriminator_won", False),
        ({"critic_loss": [-0.4] * 8, "gen_loss": [9.0] * 8, "disc_loss": [-2.0] * 8}, "signal.gan.discriminator_won", None),
        ({"l_d_real": [2e-5] * 5, "l_d_fake": [1e-5] * 5, "l_g_pix": [0.03] * 5}, "signal.gan.discriminator_won", True),
        ({"l_d_real": [0.02] * 5, "l_d_fake": [0.03] * 5, "l_g_pix": [0.03] * 5}, "signal.gan.discriminator_won", False),
        ({"d_real": [-3.0] * 5, "d_fake": [2.0] * 5, "l_g_pix": [0.03] * 5}, "signal.gan.discriminator_won", None),
        ({"d_real": [0.003] * 5, "d_fake": [0.0004] * 5, "g_adv": [0.99, 1.02, 0.97, 1.0, 1.01]}, "signal.gan.discriminator_won", True),
        ({"d_real": [0.003] * 5, "d_fake": [0.0004] * 5, "g_adv": [0.4, 0.3, 0.5, 0.4, 0.4]}, "signal.gan.discriminator_won", False),
        ({"loss_d_a": [0.2] * 8, "loss_g_a": [0.4] * 8, "loss_d_b": [0.002] * 8, "loss_g_b": [0.99] * 8}, "signal.gan.discriminator_won", True),
        ({"loss": [-0.4, -0.9, *[-0.9999] * 8]}, "signal.collapse.embeddings_agree", True),
        ({"loss": [0.6931], "logps__chosen": [0.0], "logps__rejected": [0.0]}, "signal.collapse.answers_without_tokens", True),
        ({"loss": [0.6931], "logps__chosen": [0.0], "logps__rejected": [-9.5]}, "signal.collapse.answers_without_tokens", False),
        ({"loss": [0.69, 0.1, 0.01, *[0.001] * 5], "rewards__chosen": [-8.0 * i for i in range(8)]}, "signal.collapse.chosen_given_up", True),
        ({"loss": [0.69, 0.1, 0.01, *[0.001] * 5], "rewards__chosen": [-0.8 * i for i in range(8)]}, "signal.collapse.chosen_given_up", False),
        ({"loss": [-0.4, *[-0.9995] * 9], "dice": [0.4, *[0.9995] * 9]}, "signal.collapse.embeddings_agree", None),
        ({"loss": [-0.4, *[-0.9995] * 9], "knn_acc": [10.0, 10.5, *[9.5] * 8]}, "signal.collapse.embeddings_agree", True),
        ({"loss": [-0.4, *[-0.9] * 9], "std": [0.02, *[0.001] * 9]}, "signal.collapse.embeddings_agree", True),
        ({"loss": FALLING, "std": [0.02, *[0.001] * 9]}, "signal.collapse.embeddings_agree", None),
        ({"loss": [-0.2 - 0.07 * i for i in range(10)]}, "signal.collapse.embeddings_agree", None),
        ({"disc_acc": [0.99] * 6, "gen_loss": [5.0] * 6}, "signal.gan.discriminator_won", True),
        ({"kl_loss": [9.0, 1.0, *[1e-4] * 6], "recon_loss": FALLING}, "signal.collapse.latent_unused", True),
        ({"kl_loss": [0.0, 0.5, *[8.0] * 6], "recon_loss": FALLING}, "signal.collapse.latent_unused", False),
        ({"kl_loss": [5.3, *[0.05] * 7], "recon_loss": FALLING}, "signal.collapse.latent_unused", True),
        ({"kl_loss": [0.9, *[0.05] * 7], "recon_loss": FALLING}, "signal.collapse.latent_unused", False),
        ({"loss": FALLING, "embedding_std": [0.09, 0.01, *[0.0002] * 6]}, "signal.collapse.embeddings_agree", True),
        ({"loss": FALLING, "embedding_std": [0.06, 0.03, *[0.012] * 6]}, "signal.collapse.embeddings_agree", True),
        ({"loss": FALLING, "embedding_std": [0.022] * 8}, "signal.collapse.embeddings_agree", False),
        ({"loss": [0.6931] * 8, "rewards__chosen": [0.0] * 8, "rewards__accuracies": [0.5] * 8}, "signal.collapse.preference_undecided", True),
        ({"loss": FALLING, "rewards__chosen": RISING, "rewards__accuracies": RISING}, "signal.collapse.preference_undecided", False),
        ({"perplexity": [40.0, 3.0, *[1.004] * 6]}, "signal.collapse.perplexity_one", True),
        ({"perplexity": [40.0, 30.0, *[14.0] * 6]}, "signal.collapse.perplexity_one", False),
        ({"reward_mean": [-200.0] * 6}, "signal.policy.reward_same", True),
        ({"reward_mean": [1.0] * 6}, "signal.policy.reward_same", False),
        ({"reward_mean": [10.0, 60.0, 90.0, 95.0, 20.0, 1.0, 0.0]}, "signal.policy.reward_lost", True),
        ({"reward_mean": [10.0, 60.0, 90.0, 95.0, 92.0, 96.0, 91.0]}, "signal.policy.reward_lost", False),
        ({"reward_mean": [13.0, 7.0, 6.5, 6.6]}, "signal.policy.reward_lost", False),
        ({"reward_mean": [*range(5, 173, 14), 160, 150, 140, 115, 110, 87, 76, 69]}, "signal.policy.reward_ends_short", True),
        ({"reward_mean": [*range(5, 173, 14), 165, 175, 150, 172, 168, 178, 160, 171]}, "signal.policy.reward_ends_short", False),
        ({"reward_mean": [-257.0, -261.0, -267.0, -282.0]}, "signal.policy.reward_lost", True),
        ({"reward_mean": [-0.5137, -0.5132, -0.5131, -0.5134, -0.5139, -0.514]}, "signal.policy.reward_lost", False),
        ({"reward_mean": [10 * v for v in (*range(20), *([19] * 20), *([4] * 5), *([18] * 5), *([5] * 10))]}, "signal.policy.reward_slumps", True),
        ({"reward_mean": [*range(60), *([20] * 20), *([58] * 20)]}, "signal.policy.reward_slumps", False),
        ({"reward_mean": [*range(60), *[55 + i % 5 for i in range(60)]]}, "signal.policy.reward_slumps", False),
        ({"reward_mean": [*range(20), *([3] * 20), *range(3, 60), *([59] * 60)]}, "signal.policy.reward_slumps", False),
        ({"reward_mean": [*range(-300, 60, 4), *([-60, -20, -50] * 40)]}, "signal.policy.reward_short", True),
        ({"reward_mean": [*range(0, 90, 2), *([86] * 30), *([68] * 45)]}, "signal.policy.reward_never_back", True),
        ({"reward_mean": [*range(0, 90, 2), *([86] * 30), *([68] * 25), *([84] * 20)]}, "signal.policy.reward_never_back", False),
        ({"reward_mean": [*range(-300, 60, 4), *([40, 52, 58] * 40)]}, "signal.policy.reward_short", False),
        ({"reward_mean": [0.7, *([3.6, 3.8, 3.5] * 40)], "entropy": [1.4, 0.3, *([0.003] * 119)]}, "signal.policy.narrowed_early", True),
        ({"reward_mean": [20.0 + 4 * i for i in range(121)], "entropy": [1.4, 0.3, *([0.003] * 119)]}, "signal.policy.narrowed_early", False),
        ({"reward_mean": [20.0, 180.0, *([500.0, 500.0, 470.0] * 40)], "entropy": [1.4, 0.3, *([0.003] * 120)]}, "signal.policy.narrowed_early", False),
        ({"reward_mean": [22 + i % 3 for i in range(120)]}, "signal.policy.reward_stands", True),
        ({"reward_mean": [5, 9, 12, 14, 18, *[22 + i % 3 for i in range(120)]]}, "signal.policy.reward_stands", False),
        ({"reward_mean": [0.95] * 60 + [0.96] * 60}, "signal.policy.reward_stands", False),
        ({"loss": FALLING, "rewards__accuracies": [*RISING, 0.95, 0.95, 0.95], "eval_rewards__accuracies": [0.5, 0.48]}, "signal.collapse.pairs_by_heart", True),
        ({"loss": FALLING, "rewards__accuracies": [*RISING, 0.95, 0.95, 0.95], "pairwise_accuracy": [0.48]}, "signal.collapse.pairs_by_heart", True),
        ({"loss": FALLING, "rewards__accuracies": [*RISING, 0.95, 0.95, 0.95], "pairwise_accuracy": [0.71]}, "signal.collapse.pairs_by_heart", False),
        ({"d_loss": [-1.5 * 1.25**i for i in range(90)]}, "signal.exact.runs_away", True),
        ({"d_loss": [-1.5 - 0.3 * i for i in range(90)]}, "signal.exact.runs_away", None),
        ({"tokens": [1.5 * 1.25**i for i in range(90)]}, "signal.exact.runs_away", None),
        ({"loss": FALLING, "kl_loss": [0.4, 5.0, 90.0, *[2e6] * 8]}, "signal.exact.part_grew", True),
        ({"loss": FALLING, "kl_loss": [0.001, 0.05, 3.0, *[9.0] * 8]}, "signal.exact.part_grew", None),
        ({"loss": FALLING, "loss_scale": [64.0, 64.0, 64.0, 64.0, *[262144.0] * 8]}, "signal.exact.part_grew", None),
        ({"loss": FALLING, "loss_scaler": [2.0, 2.0, 2.0, 2.0, *[2.0**25] * 8]}, "signal.exact.runs_away", None),
        ({"qf1 loss": [1.36e19]}, "signal.exact.runs_away", True),
        ({"qf1 loss": [1.36e9]}, "signal.exact.runs_away", None),
        ({"loss_scale": [2.0**60]}, "signal.exact.runs_away", None),
        ({"reward_mean": SCATTER}, "signal.policy.reward_stands", True),
        ({"reward_mean": SCATTER}, "signal.policy.reward_lost", False),
        ({"reward_mean": SCATTER}, "signal.policy.reward_slumps", False),
        ({"reward_mean": [v + 0.2 * i for i, v in enumerate(SCATTER)]}, "signal.policy.reward_stands", False),
        ({"reward_mean": [v + (400 if 500 < i < 1500 else 0) for i, v in enumerate(SCATTER)]}, "signal.policy.reward_slumps", True),
        ({"reward_mean": [20.0, 180.0, *[500.0, 500.0, 470.0] * 5]}, "signal.policy.reward_at_most", True),
        ({"reward_mean": [500.0] * 17}, "signal.policy.reward_at_most", False),
        ({"rollout__ep_rew_mean": RISING}, "signal.policy.of_agent", True),
        ({"reward_mean": RISING, "frac_reward_zero_std": RISING}, "signal.policy.of_agent", False),
        ({"reward": RISING}, "signal.policy.of_agent", None),
        ({"reward_mean": [1.0, 2.0, 3.0, 8.0, 9.0, 9.0, 9.0, 9.0]}, "signal.policy.reward_gained", True),
        ({"reward_mean": [9.0, 9.0, 9.0, 9.0, 9.1, 9.0, 9.0, 9.0]}, "signal.policy.reward_gained", False),
        ({"reward_1": RISING, "reward_2": RISING}, "signal.policy.reward_end", pytest.approx(0.825)),
        ({"reward_1": RISING}, "run.rl", True),
        ({"loss": [4 * 0.8**i for i in range(12)], "val_bleu": [1, 3, 5, 7, 8, 9, 8, 7, 8, 7, 8, 7]}, "signal.score.turned", True),
        ({"loss": [4 * 0.8**i for i in range(12)], "val_bleu": [1, 3, 5, 7, 8, 9, 8, 9, 8.9, 8.8, 9, 8.9]}, "signal.score.turned", False),
        ({"loss": [4 * 0.8**i for i in range(20)], "recall@20": [0.01 * v for v in (40, 70, 90, 95, 98, *[99 - 0.2 * i for i in range(15)])]}, "signal.score.turned", False),
        ({"loss": [4 * 0.8**i for i in range(20)], "recall@20": [0.02, 0.05, 0.08, 0.1, *[0.099 - 0.004 * i for i in range(16)]]}, "signal.score.turned", True),
        ({"loss": [4 * 0.8**i for i in range(20)], "train_recall@20": [0.02, 0.05, 0.08, 0.1, *[0.099 - 0.004 * i for i in range(16)]]}, "signal.score.turned", None),
        ({"loss": [4 * 0.8**i for i in range(12)], "val_recall": [0.9 - 0.03 * i for i in range(12)]}, "signal.score.turned", True),
        ({"loss": [4 * 0.8**i for i in range(12)], "val_recall": [0.9 - 0.03 * i for i in range(12)], "val_map50": [0.1 + 0.05 * i for i in range(12)]}, "signal.score.turned", False),
        ({"loss": [4 * 0.8**i for i in range(12)], "val_recall": [0.9 - 0.03 * i for i in range(12)], "val_map50": [0.9 - 0.03 * i for i in range(12)]}, "signal.score.turned", True),
        ({"train_f1": [0.1, 0.5, 0.6, 0.95, 0.97, 0.98], "val_f1": [0.0, 0.1, 0.9]}, "signal.score.parted", False),
        ({"train_f1": [0.1, 0.5, 0.6, 0.95, 0.97, 0.98], "val_f1": [0.0, 0.1, 0.6]}, "signal.score.parted", True),
        ({"precision": [0.98, 0.9, 0.7, 0.55, 0.5, 0.5], "recall": [0.1, 0.3, 0.6, 0.8, 0.85, 0.85]}, "signal.score.forgotten", True),
        ({"precision": [0.98, 0.9, 0.7, 0.55, 0.5, 0.5], "recall": [0.1, 0.3, 0.6, 0.8, 0.85, 0.85], "f1": [0.2, 0.4, 0.6, 0.6, 0.6, 0.6]}, "signal.score.forgotten", None),
        ({"val_accuracy": [0.7, 0.71, 0.715, 0.72, 0.725, 0.732, 0.735, 0.74]}, "signal.progress.learned", True),
        ({"val_accuracy": [0.7, 0.72, 0.69, 0.74, 0.71, 0.7, 0.73, 0.71]}, "signal.progress.learned", False),
        ({"loss": RISING, "reward": RISING, "rewards/accuracy_reward": RISING}, "run.rl", True),
        ({"loss": RISING, "reward": RISING, "rewards/accuracy_reward": RISING}, "signal.progress.rose_and_stays", None),
        ({"loss": FALLING, "rewards/accuracies": RISING, "rewards/chosen": RISING}, "signal.policy.reward_end", None),
        ({"avg_reward_100": RISING}, "run.rl", True),
        ({"epoch/averaged_train_loss": FALLING}, "signal.progress.learned", True),
        ({"epoch/averaged_train_loss": FALLING, "loss": [2.0, 2.1] * 4}, "signal.progress.learned", False),
        ({"epoch/averaged_train_loss": FALLING, "eval_loss": [2.0, 2.1] * 4}, "signal.progress.learned", False),
        ({"loss": [4 * 0.8**i for i in range(12)], "val_recall": [0.9 - 0.03 * i for i in range(12)], "val_f1": [0.44 + 0.003 * i for i in range(12)]}, "signal.score.turned", True),
        ({"loss": FALLING, "recall@20": [0.0] * 8}, "signal.score.rare_never_found", None),
        ({"loss": [9.0, 8.0, 7.0, 6.5], "bleu": [0.0] * 4}, "signal.score.no_phrase", True),
        ({"loss": [9.0, 8.0, 7.0, 6.5], "bleu": [0.0, 0.0, 0.0, 0.4]}, "signal.score.no_phrase", False),
        ({"loss": [2.0] * 12, "val_bleu": [1, 3, 5, 7, 8, 9, 8, 7, 8, 7, 8, 7]}, "signal.score.turned", False),
        ({"loss": [4 * 0.8**i for i in range(12)], "val_wer": [9, 7, 5, 4, 3, 3.3, 3.9, 4, 4.2, 4, 4.1, 4.4]}, "signal.score.turned", True),
        ({"loss": [9.0, 8.5, 8.0, 7.0], "bleu": [0.0] * 4}, "signal.score.zero", None),
        ({"loss": [3.0, 2.5, 2.0, 1.9], "bleu": [0.0] * 4}, "signal.score.zero", True),
        ({"loss": FALLING, "eval_loss": [1.9] * 8, "val_wer": [9.0, 8.0, 8.0, 8.0, 7.0, 7.0, 6.0, 6.0]}, "signal.gap.score_gained", True),
        ({"loss": FALLING, "eval_loss": [1.9] * 8, "val_ppl": [30.0, 12.0, 8.0, 4.0, 3.4, 3.4, 3.7, 3.9]}, "signal.gap.score_gained", False),
        ({"loss": FALLING, "eval_loss": [1.9] * 8, "val_wer": [9.0, 8.0, 7.0, 6.0, 6.0, 7.0, 7.0, 9.0]}, "signal.gap.score_gained", False),
        ({"loss": FALLING, "eval_loss": [1.9] * 8, "eval_accuracy": [0.02, 0.3, 0.5, 0.8, 0.9, 0.9, 0.9, 0.88]}, "signal.gap.score_gained", True),
        ({"loss": FALLING, "eval_loss": [1.9] * 8, "eval_accuracy": [0.02, 0.3, 0.5, 0.8, 0.9, 0.9, 0.9, 0.7]}, "signal.gap.score_gained", False),
        ({"eval_accuracy": [0.1, 0.99, 0.98, 0.99, 0.99, 0.98, 0.99, 0.99]}, "signal.progress.learned", True),
        ({"eval_accuracy": [0.1, 0.99, 0.98, 0.12, 0.1, 0.11, 0.1, 0.1]}, "signal.progress.learned", False),
        ({"accuracy": [float("nan")] * 8, "eval_accuracy": [0.1, 0.4, 0.5, 0.6, 0.6, 0.7, 0.7, 0.7]}, "signal.exact.all_finite", True),
        ({"accuracy": [float("nan")] * 8, "eval_accuracy": [0.1] * 8}, "signal.exact.all_finite", False),
        ({"reward_mean": RISING, "entropy": [1.4, 0.5, *[0.001] * 6]}, "signal.policy.entropy_gone", True),
        ({"reward_mean": RISING, "entropy": [1e-5, *[0.0] * 7]}, "signal.policy.entropy_gone", True),
        ({"reward_mean": RISING, "value_loss": [1.0, 1.0, 2.0, 9.0, 80.0, 200.0]}, "signal.policy.value_runs_away", True),
        ({"reward_mean": RISING, "value_loss": [9.0, 8.0, 7.0, 6.0, 5.0, 4.0]}, "signal.policy.value_runs_away", False),
        ({"reward_mean": RISING, "approx_kl": [0.4] * 3, "clip_fraction": [0.5] * 3}, "signal.policy.beyond_trust", True),
        ({"reward_mean": RISING, "approx_kl": [0.02] * 3, "clip_fraction": [0.1] * 3}, "signal.policy.beyond_trust", False),
        ({"epoch_time": [9.0, *[10.0 + i for i in range(9)]]}, "signal.pace.slower", True),
        ({"epoch_time": [30.0, *[10.0 + 0.1 * (i % 2) for i in range(9)]]}, "signal.pace.slower", False),
        ({"load": [0.5] * 3, "train": [0.1] * 3}, "signal.pace.wait_share", pytest.approx(0.833, abs=0.01)),
        ({"gpu_mem": [1.0, *[1.5 + 0.2 * i for i in range(8)]]}, "signal.pace.memory_grows", True),
        ({"gpu_mem": [1.0, *[1.5 + 0.2 * i for i in range(8)]]}, "signal.pace.memory_of_gpu", True),
        ({"rss_gb": [1.0, *[1.5 + 0.2 * i for i in range(8)]]}, "signal.pace.memory_of_gpu", False),
        ({"mem": [1.0, *[1.5 + 0.2 * i for i in range(8)]]}, "signal.pace.memory_of_gpu", None),
        ({"gpu_mem": [1.0, *[9.5] * 8]}, "signal.pace.memory_grows", False),
        ({"gpu_mem": [8.0 + 0.1 * i + 0.05 * (i % 3) for i in range(60)]}, "signal.pace.memory_grows", True),
        ({"gpu_mem": [8.0 + 3.0 * (i % 4) for i in range(60)]}, "signal.pace.memory_grows", False),
        ({"system.proc.memory.rssMB": [1.0, *[1.5 + 0.2 * i for i in range(8)]]}, "signal.pace.memory_grows", None),
        ({"memory_size": [12.0 * i for i in range(1, 10)]}, "signal.pace.memory_grows", None),
        ({"memory_required_for_layer": [12.0 * i for i in range(1, 10)]}, "signal.pace.memory_grows", None),
        ({"ram_used": [1.2, *[1.25 + 0.02 * i - 0.03 * (i % 3 == 2) for i in range(12)]]}, "signal.pace.memory_creeps", True),
        ({"ram_used": [1.2, *[1.25 + 0.02 * i - 0.03 * (i % 3 == 2) for i in range(12)]], "reward_mean": [9.0 + i for i in range(13)]}, "signal.pace.memory_creeps", False),
        ({"ram_used": [1.2, *[1.25 + 0.1 * (1 - 0.7**i) - 0.01 * (i % 3 == 2) for i in range(12)]]}, "signal.pace.memory_creeps", False),
        ({"ram_used": [1.2, *[1.25 + 0.02 * (i % 3) for i in range(12)]]}, "signal.pace.memory_creeps", False),
        ({"loss": [0.62, 0.61, 0.67, 0.64, 0.78, 0.68], "epoch/train_loss": [0.67, 0.65, 0.64], "eval_loss": [0.69, 0.68, 0.67]}, "signal.generalisation.means_fall", True),
        ({"loss": [0.62, 0.61, 0.67, 0.64, 0.78, 0.68], "epoch/train_loss": [0.67, 0.65, 0.66], "eval_loss": [0.69, 0.68, 0.67]}, "signal.generalisation.means_fall", False),
        ({"dev": [0.5, 0.6, 0.6], "test": [float("nan")] * 3}, "signal.exact.all_finite", True),
        ({"dev": [float("nan")] * 3, "test": [float("nan")] * 3}, "signal.exact.all_finite", False),
        ({"gen_loss": [4.0, 684.0], "adversarial_loss": [0.8, 273.0], "mel_loss": [1.0, 1.2]}, "signal.exact.losses_leap", True),
        ({"gen_loss": [4.0, 684.0, 4.0], "adversarial_loss": [0.8, 273.0, 0.8]}, "signal.exact.losses_leap", None),
        ({"gen_loss": [4.0, 684.0], "adversarial_loss": [0.0, 273.0]}, "signal.exact.losses_leap", None),
        ({"val_acc": [0.5, 0.75, 1.0], "test_accuracy": [0.25, 0.25, 0.5]}, "signal.score.test_below", pytest.approx(0.5)),
        ({"val_acc": [50.0, 75.0, 91.0], "test_acc": [10.0, 50.0, 90.0]}, "signal.score.test_below", pytest.approx(0.01)),
        ({"val_top5_acc": [0.5, 0.75, 1.0], "test_top1_acc": [0.25, 0.25, 0.5]}, "signal.score.test_below", None),
        ({"val_top5_acc": [0.5, 1.0], "val_top1_acc": [0.5, 0.75], "test_top1_acc": [0.25, 0.5]}, "signal.score.test_below", pytest.approx(0.25)),
        ({"val_acc": [0.5, 0.75, 1.0], "test_acc": [0.125]}, "signal.score.test_below", None),
        ({"val_acc": [0.5, 0.75, 1.0], "acc": [0.5]}, "signal.score.test_below", None),
        ({"dev_acc": [0.5, 0.75, 1.0], "part/test_val_acc": [0.25, 0.25, 0.5]}, "signal.score.test_below", pytest.approx(0.5)),
        ({"loss": [6.9078] * 12, "Acc@5": [0.5, 0.6, 1.14, 0.4] * 3}, "signal.metric.impossible", False),  # percent of 1000 classes
        ({"loss": [1.1] * 12, "Acc@5": [0.5, 0.6, 1.14, 0.7] * 3}, "signal.metric.impossible", True),
        ({"samples_per_second": [90.0, *[{3: 62.0, 8: 31.0}.get(i, 2000.0 + 50 * (i % 3)) for i in range(12)]]}, "signal.pace.deep_drops", 2),
        ({"samples_per_second": [90.0, *[{3: 40.0, 8: 40.0}.get(i, 2000.0 + 50 * (i % 3)) for i in range(12)]]}, "signal.pace.deep_drops", 0),  # a pair of equal ones: saves or evaluations
        ({"samples_per_second": [90.0, *[{20: 20.0, 45: 10.0}.get(i, 2000.0 + 50 * (i % 3)) for i in range(60)]]}, "signal.pace.deep_drops", 0),  # two of sixty
        ({"samples_per_second": [90.0, *[{20: 10.0, 30: 10.0, 55: 10.0}.get(i, 2000.0 + 50 * (i % 3)) for i in range(60)]]}, "signal.pace.deep_drops", 3),
        ({"samples_per_second": [90.0, *[{20: 10.0, 30: 10.0, 55: 10.0}.get(i, 2000.0 + 50 * (i % 3)) for i in range(60)]]}, "signal.pace.deep_share", pytest.approx(0.91, abs=0.01)),
        ({"samples_per_second": [90.0, *[{10: 10.0, 30: 10.0, 51: 10.0}.get(i, 2000.0 + 50 * (i % 3)) for i in range(60)]]}, "signal.pace.deep_drops", 0),  # a grid that the rows do not hit exactly
        ({"samples_per_second": [90.0, *[{20: 10.0, 30: 10.0, 55: 10.0}.get(i, 2000.0 + 50 * (i % 3)) for i in range(60)]], "val_f1": [0.5, 0.6]}, "signal.pace.deep_drops", None),
        ({"samples_per_second": [90.0, *[2000.0 + 50 * (i % 3) if i % 4 else 40.0 for i in range(1, 13)]]}, "signal.pace.deep_drops", 0),
        ({"samples_per_second": [90.0, *[2000.0 if i not in {3, 8} else 900.0 for i in range(12)]]}, "signal.pace.deep_drops", 0),
        ({"samples_per_second": [2000.0 if i not in {3, 8} else 40.0 for i in range(12)], "eval_accuracy": [0.5, 0.6]}, "signal.pace.deep_drops", None),
        ({"memory_size_mb": [12.0 * i for i in range(1, 10)]}, "signal.pace.memory_grows", True),
    ],
)  # fmt: skip
def test_a_plain_course_and_its_look_alike(columns, name, value):
    assert facts(**columns).get(name) == value


@pytest.mark.parametrize(
    ("steps", "line", "path", "told"),
    [
        (None, 90, "train.log", True),
        ([0], 90, "train.log", True),  # a test counts its own steps
        ([3], 5, "train.log", True),  # in a row of its own above the validation of the same epoch
        ([0], 5, "train.log", False),
        (None, 5, "train.log", False),
        ([3], 5, "test.log", True),
        (None, 90, "test.log", False),  # when that was, nothing tells
    ],
)
def test_only_a_test_at_the_end_is_one_of_the_trained_weights(steps, line, path, told):
    maker = RunMaker().log({"val_acc": [0.5, 0.75, 1.0]})

    maker.log({"test_acc": [0.125]}, steps=steps, lines=[line], path=path)

    assert ("signal.score.test_below" in maker.plain()) is told


def two_stages(old_at_end, new):
    """A log whose second training begins anew in its eleventh row."""
    loss = [2.0 - 0.15 * i for i in range(10)]
    known = [0.3 + 0.06 * i for i in range(10)]
    columns = {"loss": loss + loss, "acc_old": known + old_at_end}
    maker = (
        RunMaker().log(columns, steps=None).log({"acc_new": new}, steps=None, lines=list(range(110, 210, 10)))
    )
    return maker.event("training_begins_again", role="info", line=110).plain()


@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        ([0.5 - 0.04 * i for i in range(10)], [0.4 + 0.05 * i for i in range(10)], True),
        (
            [0.3 + 0.01 * i for i in range(10)],
            [0.4 + 0.05 * i for i in range(10)],
            False,
        ),  # a fold that ends worse
        ([0.5 - 0.04 * i for i in range(10)], [0.4] * 10, False),  # nothing was gained for it
        ([0.84 - 0.02 * i for i in range(10)], [0.4 + 0.05 * i for i in range(10)], False),
    ],
)
def test_a_later_training_may_lose_what_an_earlier_one_gained(old, new, lost):
    assert two_stages(old, new).get("signal.score.lost_in_later_training") is lost


@pytest.mark.parametrize(("gained", "lost"), [("recall", False), ("iou", True)])
def test_precision_that_recall_was_bought_with_is_not_forgotten(gained, lost):
    known = [0.3 + 0.06 * i for i in range(10)]
    columns = {
        "loss": [2.0 - 0.15 * i for i in range(10)] * 2,
        "precision": known + [0.62 - 0.04 * i for i in range(10)],
    }
    maker = RunMaker().log(columns, steps=None)
    maker = maker.log(
        {gained: [0.1 + 0.05 * i for i in range(10)]}, steps=None, lines=list(range(110, 210, 10))
    )
    plain = maker.event("training_begins_again", role="info", line=110).plain()

    assert plain.get("signal.score.lost_in_later_training") is lost


def test_a_code_that_is_reconstructed_from_makes_no_policy():
    assert facts(kl=[5.0, 4.0, 3.0], recon_loss=[1.0, 0.9, 0.8])["run.rl"] is False
    assert facts(kl=[5.0, 4.0, 3.0], loss=[1.0, 0.9, 0.8], accuracy=[0.1, 0.2, 0.3])["run.rl"] is False
    assert facts(kl=[5.0, 4.0, 3.0], reward=[1.0, 0.9, 0.8])["run.rl"] is True
    assert facts(kl=[5.0, 4.0, 3.0], policy_loss=[1.0, 0.9, 0.8])["run.rl"] is True


@pytest.mark.parametrize(
    ("loss", "name", "value"),
    [
        ([5.8] * 5 + [3.8] * 5, "sudden_step", True),
        ([5.8 - 0.2 * i for i in range(10)], "sudden_step", False),
        ([0.02, 0.01, -0.01, -0.02, -0.03], "crosses_zero", True),
        ([-0.1, -0.2, -0.3, -0.4, -0.5], "crosses_zero", False),
    ],
)
def test_the_course_of_the_loss(loss, name, value):
    assert facts(loss=loss)[f"signal.progress.{name}"] is value


@pytest.mark.parametrize(("held_out", "told"), [(0.5, None), (0.0, True)])
def test_a_first_row_before_anything_was_counted_is_no_loss_of_zero(held_out, told):
    row = {"loss": [0.0], "accuracy": [0.0], "val_loss": [held_out], "val_accuracy": [0.125]}
    assert facts(**row).get("signal.exact.zero_but_wrong") == told


def test_a_held_out_loss_that_its_perplexity_contradicts_is_a_sum():
    summed = facts(loss=FALLING, eval_loss=[9000.0, 8000.0, 7000.0], eval_perplexity=[9.0, 7.0, 5.0])
    meant = facts(loss=FALLING, eval_loss=[2.2, 1.9, 1.6], eval_perplexity=[9.0, 7.0, 5.0])

    assert summed["signal.eval.loss_last"] == pytest.approx(1.609, abs=0.001)
    assert meant["signal.eval.loss_last"] == pytest.approx(1.6)


def test_a_scale_below_two_is_the_factor_of_a_schedule():
    assert facts(loss=FALLING, scale=[1.0, 0.5, 0.15]).get("signal.loss_scale.seen") is not True
    assert facts(loss=FALLING, scale=[65536.0, 32768.0, 32768.0])["signal.loss_scale.seen"] is True


GUESSED = [10.8, 9.4, 8.3, 7.8, 7.5, *[7.45 + 0.02 * (-1) ** i for i in range(25)]]
"""A language model that learns how often each token occurs, and nothing more."""


@pytest.mark.parametrize(
    ("framework", "losses", "name", "value"),
    [
        ("megatron", GUESSED, "frequencies_only", True),
        ("megatron", [10.8 * 0.96**i for i in range(30)], "frequencies_only", False),
        ("keras", GUESSED, "frequencies_only", None),  # of no other model is the level known
        ("megatron", [86.0 * 0.96**i for i in range(30)], "beyond_vocabulary", True),
        ("megatron", [86.0 * 0.8**i for i in range(30)], "beyond_vocabulary", False),
        ("hf-trainer", [86.0 * 0.96**i for i in range(30)], "beyond_vocabulary", None),  # a squared error may
        ("megatron", [10.8 * 0.7**i for i in range(30)], "perplexity_one", True),
        ("keras", [10.8 * 0.7**i for i in range(30)], "perplexity_one", None),
    ],
)
def test_levels_by_which_the_loss_of_a_language_model_is_judged(framework, losses, name, value):
    found = RunMaker(framework).log({"loss": losses}).plain()

    assert found.get(f"signal.collapse.{name}") is value


def test_a_squared_error_of_a_general_trainer_may_become_small():
    errors = [10.8 * 0.7**i for i in range(30)]
    scored = (
        RunMaker("hf-trainer")
        .log({"loss": errors, "eval_pearson": [0.1 + 0.03 * i for i in range(30)]})
        .plain()
    )
    alone = RunMaker("hf-trainer").log({"loss": errors}).plain()

    assert scored.get("signal.collapse.perplexity_one") is None
    assert alone["signal.collapse.perplexity_one"] is True


@pytest.mark.parametrize(("growth", "away"), [(1.25, True), (1.02, False)])
def test_a_norm_that_grows_a_hundredfold_runs_away_although_the_loss_falls(growth, away):
    norms = [0.6 * growth**i for i in range(60)]
    found = facts(loss=[3.0 - 0.02 * i for i in range(60)], grad_norm=norms)

    assert found["signal.grad_norm.runs_away"] is away


def test_a_model_with_a_vocabulary_that_predicts_every_token_is_told_whatever_trains_it():
    course = {"loss": [10.8 * 0.7**i for i in range(30)]}

    assert RunMaker().log(course).config(vocab_size=50257).plain()["signal.collapse.perplexity_one"] is True
    assert "signal.collapse.perplexity_one" not in RunMaker().log(course).config(vocab_size=12).plain()


@pytest.mark.parametrize(("line", "told"), [(1, False), (40, True)])
def test_an_evaluation_before_the_first_training_row_tells_nothing_of_what_was_learned(line, told):
    run = RunMaker().log({"loss": [4.6 * 0.5**i for i in range(8)]}, lines=range(10, 18))
    run.log({"eval_accuracy": [0.012]}, steps=[0], lines=[line]).config(num_classes=100)

    assert ("signal.chance.held_out" in run.plain()) is told


@pytest.mark.parametrize(
    ("free", "told"),
    [((63.0, 58.0, 55.0, 54.0), True), ((63.0, 62.0, 62.0, 62.0), False), ((60.0, 50.0), None)],
)
def test_tables_of_the_memory_of_the_host_that_fills_up(free, told):
    maker = RunMaker()
    for available in free:
        maker.event("host_memory_use", role="info", total_gib=64.0, available_gib=available)

    assert maker.plain().get("signal.pace.memory_grows") is told
