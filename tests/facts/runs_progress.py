"""Runs that emit the facts of progress, chance, gaps and exact values."""

from __future__ import annotations

from make_run import NAN, RunMaker, falling


def layers_without_gradient() -> RunMaker:
    """Two of four layers whose gradient norm is exactly 0, a part of the loss that is NaN, and a rate far too high."""
    columns = {
        "loss": falling(30),
        "aux_loss": [0.5, NAN, NAN] * 10,
        **{f"grad_norm/layers.{i}.weight": [0.0 if i < 2 else 1.0] * 30 for i in range(4)},
    }
    return RunMaker().log(columns).config(learning_rate=10.0, optimizer="sgd")


def gradient_lost() -> RunMaker:
    """Rewards that differ within their groups, beside gradient norms of 0."""
    columns = {
        "loss": [0.0] * 3,
        "grad_norm": [0.0] * 3,
        "reward": [0.4, 0.39, 0.41],
        "reward_std": [0.45, 0.46, 0.43],
        "kl": [0.0] * 3,
        "frac_reward_zero_std": [0.0] * 3,
    }
    return RunMaker().log(columns)


def two_runs_in_one_file() -> RunMaker:
    """A run of six epochs and a longer one behind it, whose epochs are counted from the first again."""
    course = [2.3, 1.6, 1.1, 0.8, 0.6, 0.5]
    epochs = [*range(6), *range(7)]
    return RunMaker().log({"loss": [*course, *course, 0.45], "epoch": epochs}, steps=False)


def two_epochs_of_garbage() -> RunMaker:
    """Two of eight epochs far above the course; the held-out loss does not notice."""
    columns = {
        "loss": [2.3, 1.2, 0.8, 0.7, 2.4, 2.2, 0.65, 0.6],
        "eval_loss": [2.2, 1.1, 0.8, 0.72, 0.74, 0.75, 0.68, 0.65],
        "grad_norm": [1.0, 0.9, 0.8, 0.8, 3.0, 2.8, 0.8, 0.7],
    }
    return RunMaker().log(columns)


def saturated() -> RunMaker:
    """Every wrong answer costs what Keras clips a probability to."""
    return RunMaker().log({"loss": [14.5063] * 4, "accuracy": [0.1] * 4})


def parted() -> RunMaker:
    """Held-out loss that rises from its third evaluation on."""
    columns = {"loss": [0.95, 0.8, 0.68, 0.55, 0.42], "eval_loss": [0.91, 0.85, 0.84, 0.86, 0.9]}
    return RunMaker().log(columns)


def surer_and_better() -> RunMaker:
    """Held-out loss that rises from its second evaluation on, while F1 goes on to rise."""
    score = [0.52, 0.58, 0.61, 0.63, 0.64, 0.66, 0.66]
    columns = {"loss": falling(7), "eval_loss": [0.5, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65], "eval_f1": score}
    return RunMaker().log(columns)


def above_zero_shot() -> RunMaker:
    """One test at the end, of a model that was tested before too."""
    run = RunMaker().log({"loss": falling(40), "accuracy": [100.0] * 40})
    run.log({"eval_accuracy": [61.5]}, first=40)
    return run.event("zero_shot_score", line=3, role="info", score=48.25)


def beyond_untrained() -> RunMaker:
    """One loss far beyond that of an untrained model."""
    return RunMaker().log({"loss": [*falling(20), 400.0, *falling(20)[-5:]]})


def one_part_left() -> RunMaker:
    """A loss of which one part never moves, and a public test that is lost meanwhile."""
    columns = {
        "loss": [0.52 + 3 * 0.5**i for i in range(12)],
        "pde_loss": [3 * 0.5**i for i in range(12)],
        "bc_loss": [0.52] * 12,
        "mmlu": [0.62 - 0.03 * i for i in range(12)],
    }
    return RunMaker().log(columns)


def one_part_traded() -> RunMaker:
    """A loss of which one part rises while the other falls by more."""
    columns = {
        "loss": [0.3 + 2 * 0.5**i for i in range(12)],
        "pde_loss": [0.15 + 1.96 * 0.5**i for i in range(12)],
        "ic_loss": [0.15 - 0.12 * 0.7**i for i in range(12)],
    }
    return RunMaker().log(columns)


def pairs_without_answers() -> RunMaker:
    """A preference loss over answers of no token."""
    none = [0.0] * 4
    return RunMaker().log(
        {"loss": [0.6931] * 4, "logps/chosen": none, "logps/rejected": none, "rewards/chosen": none}
    )


def frequencies_alone() -> RunMaker:
    """A language model that learns how often each token occurs, and nothing more."""
    return RunMaker("megatron").log({"loss": [10.8, 9.0, 8.0, *[7.45] * 27]})


def rate_far_too_small() -> RunMaker:
    """A loss that falls in a straight line, and little, over its whole log."""
    return RunMaker().log({"loss": [14.0 - 0.03 * step for step in range(120)]})


def accumulated_without_division() -> RunMaker:
    """A training loss that adds what four parts cost, and a rate that leaps."""
    losses = [9.2, 9.0, 8.0, 6.0, 5.0, 4.0, 3.2, 2.4, 2.2, 2.0]
    maker = RunMaker().log({"loss": losses, "learning_rate": [0.01, 0.009, 0.008, 0.007, 0.006, *[0.08] * 5]})
    return maker.log({"eval_loss": [loss / 4 for loss in losses]})


RUNS = (
    surer_and_better,
    above_zero_shot,
    accumulated_without_division,
    rate_far_too_small,
    frequencies_alone,
    pairs_without_answers,
    layers_without_gradient,
    gradient_lost,
    two_runs_in_one_file,
    two_epochs_of_garbage,
    saturated,
    parted,
    beyond_untrained,
    one_part_left,
    one_part_traded,
)
