"""What the curves do at a restart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from make_run import RunMaker


def curve(first, count, *, seed=0, noise=0.02):
    steps = np.arange(first, first + count)
    return (
        2.0 + 2.0 * np.exp(-steps / 150) + noise * np.random.default_rng(seed + first).standard_normal(count)
    )


def launches(*parts, columns=()):
    """Each part: first step, losses; files are attempts in that order."""
    maker = RunMaker()
    for number, (first, losses) in enumerate(parts):
        path = f"attempt_{number}.log"
        extra = columns[number] if columns else {}
        maker.log({"loss": list(losses), **extra}, path=path, first=first).attempt(path, float(number))
    return maker


def plain_of(maker):
    return {name: value for name, value in maker.facts().plain.items() if name.startswith("signal.resume.")}


def test_a_run_without_restart_says_nothing():
    assert plain_of(launches((1, curve(1, 300)))) == {}


def test_seamless_restart_shows_no_jump():
    plain = plain_of(launches((1, curve(1, 300)), (301, curve(301, 300))))

    assert plain["signal.resume.count"] == 1
    assert plain["signal.resume.jumps_up"] is False
    assert plain["signal.resume.jumps_down"] is False
    assert plain["signal.resume.from_zero"] is False


def test_lost_moments_jump_up_and_decay_slowly():
    after = curve(301, 300) + 1.0 * np.exp(-np.arange(300) / 40)

    plain = plain_of(launches((1, curve(1, 300)), (301, after)))

    assert plain["signal.resume.jump_is_large"] is True
    assert plain["signal.resume.decays_slowly"] is True
    assert plain["signal.resume.loss_back_at_start"] is False


def test_repeated_data_steps_down_and_up_again():
    after = curve(301, 300)
    after[:150] -= 0.3

    plain = plain_of(launches((1, curve(1, 300)), (301, after)))

    assert plain["signal.resume.jumps_down"] is True
    assert plain["signal.resume.down_then_up"] is True


def test_job_that_begins_anew():
    maker = launches((1, curve(1, 300)), (1, curve(1, 100, seed=7)))
    maker.event("checkpoint_saved", line=2500, role="info", step=250, path="attempt_0.log")

    plain = plain_of(maker)

    assert plain["signal.resume.from_zero"] is True
    assert plain["signal.resume.loss_back_at_start"] is True
    assert plain["signal.resume.checkpoint_seen"] is True


def test_learning_rate_that_warms_up_again():
    rates = [{"learning_rate": [1e-4 * min(1, (i + 1) / 50) for i in range(300)]}] * 2

    plain = plain_of(launches((1, curve(1, 300)), (301, curve(301, 300)), columns=rates))

    assert plain["signal.resume.learning_rate_restarts"] is True
    assert plain["signal.resume.learning_rate_ratio"] == pytest.approx(0.02)


def test_small_spike_at_every_restart():
    parts = []
    for first in (1, 301, 601):
        losses = curve(first, 300, noise=0.005)
        if first > 1:
            losses[:4] += 0.3
        parts.append((first, losses))

    assert plain_of(launches(*parts))["signal.resume.small_spike_each_time"] is True


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.floats(0.0, 0.1))
def test_noise_alone_is_no_jump(seed, noise):
    plain = plain_of(
        launches((1, curve(1, 300, seed=seed, noise=noise)), (301, curve(301, 300, seed=seed, noise=noise)))
    )

    assert plain["signal.resume.jump_is_large"] is False
    assert plain.get("signal.resume.down_then_up") is not True


@pytest.mark.parametrize("says_so", [True, False])
def test_a_console_that_the_next_launch_appends_to(says_so):
    maker = RunMaker().log({"loss": [*curve(1, 300), *(curve(301, 300) + 1.0)]})
    if says_so:  # between the lines of steps 300 and 301
        maker.event("resume_from_checkpoint", line=3005, role="info", step=300)

    plain = plain_of(maker)

    assert (plain.get("signal.resume.step") == 301) is says_so
    assert (plain.get("signal.resume.jump_is_large") is True) is says_so


def test_a_checkpoint_loaded_before_the_first_row_is_no_restart_within_the_file():
    maker = RunMaker().log({"loss": list(curve(301, 300))}, first=301)
    maker.event("resume_from_checkpoint", line=5, role="info", step=300)

    assert plain_of(maker) == {}


@pytest.mark.parametrize("stated", ["output/checkpoint-300", "ckpts/step_00000300.pt", "run/global_step300/"])
def test_settings_name_the_step_at_which_a_whole_history_was_resumed(stated):
    losses = np.concatenate([curve(1, 300), curve(301, 300) + 1.0 * np.exp(-np.arange(300) / 40)])
    maker = launches((1, losses)).config(**{"train.resume_from": stated})

    plain = plain_of(maker)

    assert plain["signal.resume.step"] == 301
    assert plain["signal.resume.jump_is_large"] is True
    assert plain["signal.resume.decays_slowly"] is True


@pytest.mark.parametrize("stated", ["output/best", "checkpoint-900", "true", "checkpoint-0"])
def test_settings_that_name_no_step_of_the_history_say_nothing(stated):
    assert plain_of(launches((1, curve(1, 600))).config(**{"train.resume_from": stated})) == {}
