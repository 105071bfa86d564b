"""Runs that emit the facts about scores, players, collapses, policies over few rows, and pace."""

from make_run import NAN, RunMaker, falling

LINE = [3.0 - 0.2 * i for i in range(10)]


def scores():
    maker = RunMaker().log({"train_loss": LINE, "accuracy": [0.5 + 0.04 * i for i in range(10)]})
    maker.log(
        {
            "val_f1": [0.0] * 10,
            "train_f1": [0.5 + 0.04 * i for i in range(10)],
            "val_auc": [0.5718] * 10,
            "val_dice": [0.1] * 10,
        }
    )
    return maker.log({"val_wer": [40.0 + 12 * i for i in range(10)], "val_map": [0.6, 0.5, *[0.1] * 8]})


def players():
    return RunMaker().log(
        {
            "loss_d": [0.01] * 8,
            "loss_g": [6.0] * 8,
            "d_acc": [0.99] * 8,
            "kl": [5.0, 1.0, *[1e-4] * 6],
            "recon_loss": [1.0] * 8,
        }
    )


def embeddings():
    maker = RunMaker().log(
        {"loss": [0.6931] * 8, "rewards/chosen": [0.0] * 8, "rewards/accuracies": [0.5] * 8}
    )
    maker.log({"eval_rewards/accuracies": [0.5] * 3})
    return maker.log({"z_std": [0.001] * 8, "perplexity": [1.01] * 8})


def policy():
    maker = RunMaker().log(
        {"reward_mean": [1.0, 5.0, 9.0, 4.0, -8.0, -9.0], "entropy": [1.4, 0.3, *[0.001] * 4]}
    )
    maker.log(
        {"value_loss": [1.0, 1.0, 1.0, 50.0, 90.0, 99.0], "approx_kl": [0.4] * 6, "clip_fraction": [0.5] * 6}
    )
    return maker.log(
        {
            "kl": [0.001, 0.01, 0.1, 0.2, 0.3, 0.4],
            "rewards/a": [6.0, 5.0, 4.0, 3.0, 2.0, 1.0],
            "rewards/b": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        }
    )


def policy_far_away():
    maker = RunMaker().log({"reward_mean": [1.5], "approx_kl": [33.0], "entropy": [6e-5]})
    for line in range(10, 16):
        maker.event("update_cut_short", line=line, at=0)
    return maker


def part_that_stands():
    return RunMaker().log({"loss": falling(12), "heat_loss": [0.3141592] * 12})


def still_policy():
    return RunMaker().log({"reward_mean": [22.0 + i % 3 for i in range(120)]})


def form_alone():
    parts = {"rewards/form": [0.05 + 0.01 * (i % 4) for i in range(12)], "rewards/answer": [0.0] * 12}
    return RunMaker().log({"reward_mean": parts["rewards/form"], **parts})


def translations():
    return RunMaker().log({"loss": [9.0, 8.0, 7.0, 6.5], "bleu": [0.0] * 4})


def wasserstein():
    return RunMaker().log({"d_loss": [-1.5 * 1.25**i for i in range(90)]})


def evaluated_agent():
    maker = RunMaker().log({"rollout/ep_rew_mean": [-14.0 + 0.05 * i for i in range(40)]})
    return maker.log({"eval/mean_reward": [-6.0, -7.0, -11.0, -15.0, -22.0]}, first=1, every=9)


def pace():
    maker = RunMaker().log(
        {"batch_time": [1.0 + 0.1 * i for i in range(12)], "tokens_per_second": [300.0] * 12}
    )
    return maker.log(
        {"load": [0.5] * 12, "train": [0.1] * 12, "memory_gb": [1.0 + 0.1 * i for i in range(12)]}
    )


def deep_drops():
    return RunMaker().log(
        {"samples_per_second": [8.0, *[0.1 if i in {4, 9, 17} else 8.0 for i in range(20)]]}
    )


def oddities():
    maker = RunMaker().log(
        {
            "loss": [1.0, 0.5, 0.1, 0.0, 0.0],
            "box_loss": [-0.2] * 5,
            "obj": [-34.0, -35.0, -33.0, -36.0, -3e29],
        }
    )
    return maker.log({"lr_0": [7e-111] * 5})


def contradictions():
    maker = RunMaker().log(
        {"loss": [0.0] * 5, "accuracy": [0.003] * 5, "obj": [-34.0, -3e29, -33.0, -36.0, -35.0]}
    )
    return maker.log({"val_top1": [1.0] * 5})


def forgetting():
    return RunMaker().log(
        {"loss": LINE, "acc_old": [0.9, 0.95, *[0.3] * 8], "acc_new": [0.1 + 0.08 * i for i in range(10)]}
    )


def broken_down():
    return RunMaker().log({"eval_dice": [0.64, 1e-10]})


def not_counted():
    """Answers that cost next to nothing, and of which none counts as right."""
    return RunMaker().log({"loss": [0.5, 0.1], "accuracy": [0.0, 0.0]})


def nothing_found():
    return RunMaker().log({"val_ap": [0.0], "val_ar": [0.0], "eval_loss": [0.0]})


def ranked() -> RunMaker:
    """Answers that are right in the first place more often than among the first five."""
    return RunMaker().log(
        {
            "top1_acc": [0.5 + 0.01 * i for i in range(12)],
            "top5_acc": [0.3] * 12,
            "hits@10": [0.0] * 12,
            "mrr": [0.9] * 12,
        }
    )


def no_episode() -> RunMaker:
    """A mean reward that is one of nothing, by NumPy's own words."""
    rewards = {"reward_mean": [-9.0, -7.0, -5.0, NAN, NAN]}
    return RunMaker().event("mean_of_nothing", line=35).log(rewards, steps=None)


def tasks_in_turn() -> RunMaker:
    """An evaluation by task, and what the program says of forgetting."""
    return RunMaker().event("task_scores", role="info", tasks=3, highest=2, newest=0.9, earlier=2, at_zero=2, lost=2, forgetting=0.9)  # fmt: skip


def masks_of_255() -> RunMaker:
    """An overlap that leaves its range upwards, and a loss that leaves its own downwards."""
    return RunMaker().log({"loss": [2.0, -20.0, -90.0], "val_iou": [0.8, 2.5, 7.0]})


def one_row() -> RunMaker:
    columns = {
        "psnr": 24.0,
        "val_psnr": 9.5,
        "F1_0": 0.97,
        "F1_1": 0.0,
        "vq_loss": 9.0,
        "ppl_0": 1.01,
        "ppl_1": 1.0,
    }
    maker = RunMaker().log({name: [value] for name, value in columns.items()}, first=9000)
    for line in range(20, 26):
        maker.event("empty_prediction", line=line, role="info", label="4 4 2")
    return maker


def target_of_zero() -> RunMaker:
    """A percentage error that one target of 0 makes infinite."""
    return RunMaker().log({"loss": [2.0, 1.5, 1.2], "test_mape": [0.2, float("inf"), 0.1]})


def leaps() -> RunMaker:
    """A loss that leaps again and again, and a part of it that leaves all proportion."""
    losses = [900.0, 950.0, 800.0, 4e4, 700.0, 850.0, 3e6, 2e4, 900.0, 820.0]
    return RunMaker().log({"loss": losses, "kl_loss": [0.4, 5.0, *[2e6] * 8]})


def answers_now_and_then() -> RunMaker:
    """A loss of each epoch and an accuracy of every fifth."""
    maker = RunMaker().log({"loss": [4.0 * 0.9**i for i in range(60)]})
    return maker.log(
        {"accuracy": [0.3, 0.42, *[0.47] * 10]}, first=5, every=5, lines=list(range(50, 601, 50))
    )


def class_left_behind() -> RunMaker:
    """Overlaps by class, of which one stands."""
    road = [0.9 - 0.4 * 0.7**i for i in range(12)]
    return RunMaker().log({"loss": falling(12, 2.0, 0.2), "IoU_road": road, "IoU_pole": [0.1] * 12})


RUNS = (
    class_left_behind,
    leaps,
    answers_now_and_then,
    one_row,
    target_of_zero,
    no_episode,
    masks_of_255,
    tasks_in_turn,
    forgetting,
    broken_down,
    not_counted,
    nothing_found,
    contradictions,
    oddities,
    scores,
    players,
    embeddings,
    policy,
    policy_far_away,
    part_that_stands,
    still_policy,
    form_alone,
    evaluated_agent,
    translations,
    wasserstein,
    pace,
    deep_drops,
    ranked,
)
