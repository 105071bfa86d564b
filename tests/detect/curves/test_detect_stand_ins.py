"""Series that stand for a loss or an accuracy where none is called so, and the look-alikes that do not."""

import pytest
from make_run import RunMaker

FALLING = [2.0 * 0.8**i for i in range(8)]
RISING = [0.5 + 0.05 * i for i in range(8)]


def facts(**columns):
    run = RunMaker().log({name.replace("__", "/"): values for name, values in columns.items()})
    return {name: fact.value for name, fact in run.facts().items()}


@pytest.mark.parametrize(
    ("names", "learned"),
    [
        (("loss_g_l1",), True),
        (("loss_cycle_a", "loss_idt_a"), True),
        (("loss_d_fake",), None),  # a player's loss need not fall, and tells nothing if it does
        (("loss_gp",), None),
    ],
)
def test_of_players_what_the_generator_makes_again_stands_for_the_loss(names, learned):
    rows = {"loss_g_gan": [0.7, 0.9, 0.6, 0.8] * 5, "loss_d_real": [0.6, 0.7, 0.5, 0.6] * 5}
    rows |= {name: [10.0 * 0.9**i for i in range(20)] for name in names}
    facts = RunMaker().log(rows).plain()

    assert facts.get("signal.progress.learned") is learned


@pytest.mark.parametrize(
    ("columns", "gap"),
    [
        (
            {"caps_loss": RISING, "val_caps_loss": RISING, "caps_acc": RISING, "val_caps_acc": [0.5] * 8},
            0.325,
        ),
        ({"pixel_acc": RISING, "val_pixel_acc": [0.5] * 8}, None),
        (
            {
                f"{phase}{output}_{what}": RISING
                for phase in ("", "val_")
                for output in ("caps", "word")
                for what in ("loss", "acc")
            },
            None,
        ),
    ],
)
def test_the_accuracy_of_the_only_output_that_is_scored_is_that_of_the_model(columns, gap):
    found = facts(loss=[5000.0] * 8, val_loss=[5000.0] * 8, **columns).get("signal.gap.score_last")
    assert found == (gap and pytest.approx(gap))


@pytest.mark.parametrize(("other", "told"), [("vloss", False), ("aloss", True)])
def test_the_value_of_states_is_no_loss_that_has_to_fall(other, told):
    found = facts(**{"ploss": [-0.01] * 12, other: [9.0 + 9.0 * n for n in range(12)]})
    assert bool(found.get("signal.loss.points")) == told


def test_a_lone_part_that_is_off_stands_for_no_loss():
    assert (
        "signal.loss.points"
        not in RunMaker().log({"domain_loss": [0.0] * 4, "synt_uv": [8.4, 8.2, 8.1, 8.0]}).plain()
    )
    assert RunMaker().log({"domain_loss": [0.5] * 4}).plain()["signal.loss.points"] == 4


def test_a_divergence_beside_a_reconstruction_is_that_of_no_policy():
    assert (
        RunMaker().log({"loss": [329.2, 265.9, 699.6], "approx_kl": [13.5, 12.7, 12.4]}).plain().get("run.rl")
        is False
    )
    policy = RunMaker().log({"policy_loss": [0.1, 0.2, 0.1], "approx_kl": [0.01, 0.02, 0.01]})
    assert policy.plain()["run.rl"] is True
