"""Runs that look well and are not: facts of held-out data that are training data, of guesses, leaps and policies that stand."""

from __future__ import annotations

from make_run import RunMaker, falling


def well_at_sight() -> RunMaker:
    """Held-out losses that are those of training, an accuracy of a guess, a class next to nothing, leaps, and an error that climbs."""
    losses = [round(9.0 * 0.96**row + 1.0, 4) for row in range(40)]
    for row in (12, 22, 32):
        losses[row] = round(losses[row] * 7.0, 4)
    classes = {"dice_0": [0.9] * 40, "dice_1": [0.02 + 0.001 * (row % 3) for row in range(40)]}
    errors = [0.1 + 0.01 * row for row in range(40)]
    scores = {"val_r2": [-0.2] * 40, "link_acc1": [0.5] * 40, "total_error": errors, **classes}
    return RunMaker().log({"loss": losses, "eval_loss": losses, **scores})


def two_stages() -> RunMaker:
    first = [10.374 - 0.0005 * row for row in range(14)]
    maker = RunMaker().log({"loss": [*first, *falling(10)]}, steps=[*range(14), *range(10)])
    return maker.config("model", path="config.json", vocab_size=32000)


def still_policy() -> RunMaker:
    columns = {"approx_kl": [2e-6] * 9, "clip_fraction": [0.0] * 9, "entropy_loss": [-1.38] * 9}
    return RunMaker().log({"reward_mean": [0.2, 0.3, 0.1, 0.25, 0.2, 0.3, 0.2, 0.1, 0.2], **columns})


def made_alike() -> RunMaker:
    """Features of two domains that are made alike: who tells them apart loses again what he had won."""
    opponent = [0.68, 0.5, 0.33, *[0.33 + 0.02 * row for row in range(12)]]
    return RunMaker().log({"loss": [each + 0.1 for each in opponent], "domain_loss": opponent})


RUNS = (made_alike, well_at_sight, two_stages, still_policy)
