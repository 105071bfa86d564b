"""Outputs that are exactly 0 or 1: every wrong answer costs what the library clips it to."""

import pytest
from make_run import RunMaker, falling

RIGHT = [0.1, 0.0994, 0.1003, 0.1, 0.0998]


def facts(losses, shares):
    return RunMaker().log({"loss": losses, "accuracy": shares}, steps=None).plain()


@pytest.mark.parametrize("limit", [16.118, 15.942, 34.539, 100.0])
@pytest.mark.parametrize("unit", [1.0, 100.0])
def test_every_wrong_answer_costs_the_limit(limit, unit):
    found = facts([limit * (1 - right) for right in RIGHT], [right * unit for right in RIGHT])

    assert found["signal.certain.saturated"] is True
    assert found["signal.certain.cost"] == pytest.approx(limit, rel=1e-3)


def test_a_loss_that_is_learned_and_one_of_another_size_are_not():
    assert facts(falling(20), [0.1 + 0.04 * i for i in range(20)])["signal.certain.saturated"] is False
    assert facts([14.5, 14.1, 15.2, 13.9, 14.7], RIGHT)["signal.certain.saturated"] is False
    assert "signal.certain.cost" not in facts([2.3] * 5, RIGHT)


def test_a_handful_of_wrong_answers_is_no_fault():
    right = [0.98, 0.981, 0.982, 0.983]
    assert facts([16.118 * (1 - share) for share in right], right)["signal.certain.saturated"] is False


def test_two_rows_tell_nothing():
    assert "signal.certain.saturated" not in facts([14.5063, 14.5063], [0.1, 0.1])


def test_the_parts_of_a_discriminators_loss_are_its_loss():
    won = {"d_real": [0.1, *[0.0] * 9], "d_fake": [0.2, *[0.001] * 9], "g_adv": [0.5, *[1.0] * 9]}
    level = {"d_real": [0.2] * 10, "d_fake": [0.25] * 10, "g_adv": [0.4] * 10}

    assert RunMaker().log(won).plain()["signal.gan.discriminator_won"] is True
    assert RunMaker().log(level).plain()["signal.gan.discriminator_won"] is False


CLASSES = [1.1, 0.09, 0.04, 0.03, *[0.025] * 12]
BACK_UP = [0.68, 0.5, 0.4, 0.33, *[0.33 + 0.02 * i for i in range(12)]]


@pytest.mark.parametrize(
    ("name", "opponent", "classes", "regains"),
    [
        ("domain_loss", BACK_UP, CLASSES, True),
        ("loss_adv", BACK_UP, CLASSES, True),
        (
            "domain_loss",
            [*BACK_UP[:8], *[0.5 + 0.1 * i for i in range(8)]],
            CLASSES,
            False,
        ),  # beyond that of a guess
        (
            "domain_loss",
            BACK_UP,
            [*CLASSES[:8], *[0.1 * i for i in range(8)]],
            False,
        ),  # the classes are lost, too
        ("box_loss", BACK_UP, CLASSES, None),  # nobody is meant to lose that part
    ],
)
def test_a_loss_that_rises_by_the_part_of_an_opponent(name, opponent, classes, regains):
    total = [a + b for a, b in zip(opponent, classes, strict=True)]
    found = RunMaker().log({"loss": total, "cls_loss": classes, name: opponent}).plain()
    assert found.get("signal.gan.opponent_regains") is regains
