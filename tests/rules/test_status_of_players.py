"""The word for runs of players whose losses follow each other: by scores, and told truly where there are none."""

import math

import pytest

from analyzer import api


def diagnose(tmp_path, rows):
    log = tmp_path / "train.log"
    log.write_text("".join(rows))
    return api.diagnose(log)


def game(score, count=50):
    return [
        f"kimg {100 * at} | G loss {1.3 + at % 7 / 20:.3f} | D loss {0.8 + at % 5 / 20:.3f}{score(at)}\n"
        for at in range(1, count + 1)
    ]


def test_losses_of_players_alone_are_told_as_what_they_are(tmp_path):
    dx = diagnose(tmp_path, game(lambda at: ""))

    assert dx.status == "insufficient"
    assert "50 points of losses of players" in dx.summary


def test_a_few_points_of_players_are_too_few(tmp_path):
    assert "of players" not in diagnose(tmp_path, game(lambda at: "", 3)).summary


@pytest.mark.parametrize(("sign", "healthy"), [(-1, True), (1, False)])
def test_a_distance_of_made_samples_tells_whether_they_got_better(tmp_path, sign, healthy):
    dx = diagnose(tmp_path, game(lambda at: f" | fid50k_full {7 + 170 * math.exp(sign * at / 12):.2f}"))

    assert (dx.status == "healthy") is healthy


@pytest.mark.parametrize(("fall", "healthy"), [(25, True), (1e9, False)])
def test_the_error_of_what_a_generator_makes_again_stands_for_its_loss(tmp_path, fall, healthy):
    rows = [
        f"Steps : {5 * at}, Gen Loss Total : {30 + at % 3:.3f}, Mel-Spec. Error : {0.33 + 1.2 * math.exp(-at / fall) + at % 5 / 100:.3f}, s/b : 0.512\n"
        for at in range(100)
    ]

    assert (diagnose(tmp_path, rows).status == "healthy") is healthy


@pytest.mark.parametrize(("gain", "healthy"), [(25, True), (0, False), (-25, False)])
def test_a_mean_reward_that_rises_over_eight_rows_shows_that_an_agent_learns(tmp_path, gain, healthy):
    rows = [
        f"steps: {999 * at}, episodes: {40 * at}, mean episode reward: {-300 + gain * at + at % 3}, time: 5.5\n"
        for at in range(1, 9)
    ]

    assert (diagnose(tmp_path, rows).status == "healthy") is healthy
