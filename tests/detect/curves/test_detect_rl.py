"""Reinforcement learning: what is ordinary there raises no alarm, and what is not is measured."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from make_run import NAN, RunMaker, falling


def policy(**columns):
    return RunMaker("trl").log(columns)


def test_a_rising_value_loss_and_an_undefined_explained_variance_are_no_facts():
    facts = policy(
        reward_mean=np.linspace(0, 2, 40), value_loss=np.linspace(0.1, 30, 40), explained_variance=[NAN] * 40
    ).plain()

    assert facts["run.rl"]
    assert facts["signal.rl.reward_rises"]
    assert not any(
        name.startswith("signal.nonfinite_loss") and value is True for name, value in facts.items()
    )


def test_equal_rewards_in_every_group_are_told_from_a_zero_loss_with_gradient():
    silent = policy(reward_mean=[0.0] * 20, reward_std=[0.0] * 20, frac_reward_zero_std=[1.0] * 20)
    learning = policy(reward_mean=[0.3] * 20, reward_std=[0.2] * 20, frac_reward_zero_std=[0.4] * 20)

    assert silent.plain()["signal.rl.no_reward_signal"] is True
    assert learning.plain()["signal.rl.no_reward_signal"] is False
    assert "signal.rl.no_reward_signal" not in policy(reward_mean=[0.0] * 20).plain()


def test_without_the_share_of_groups_a_constant_reward_without_spread_tells():
    assert policy(reward_mean=[1.0] * 20, reward_std=[0.0] * 20).plain()["signal.rl.no_reward_signal"] is True
    moving = policy(reward_mean=np.linspace(0, 1, 20), reward_std=[0.0] * 20)

    assert moving.plain()["signal.rl.no_reward_signal"] is False


def test_noise_around_zero_is_no_negative_divergence():
    noise = np.random.default_rng(0).normal(0.0, 0.01, 60)

    assert policy(kl=noise).plain()["signal.rl.kl_negative"] is False
    sunk = policy(kl=[0.0] * 3 + [-0.8] * 20).plain()
    assert sunk["signal.rl.kl_negative"] is True
    assert sunk["signal.rl.kl_negative_from_start"] is True


@pytest.mark.parametrize(
    ("name", "values", "exploded"),
    [
        ("kl", [0.0] * 5 + list(np.linspace(0.001, 0.8, 95)), False),  # a policy that learns
        ("kl", [0.02] * 50 + [40.0] + [0.03] * 49, False),  # a spike of the estimator
        ("kl", [0.02] * 50 + [60.0] * 50, True),
        ("approx_kl", [0.01] * 50 + [0.3] * 50, False),
        ("approx_kl", [0.01] * 50 + [4.0] * 50, True),
    ],
)
def test_only_a_lasting_divergence_beyond_usual_values_is_an_explosion(name, values, exploded):
    facts = policy(**{name: values}).plain()

    assert facts["signal.rl.kl_exploded"] is exploded
    assert ("signal.rl.kl_explosion_step" in facts) is exploded


def test_the_divergence_of_a_latent_code_is_that_of_no_policy():
    facts = (
        RunMaker()
        .log({"loss": falling(100), "recon_loss": falling(100), "kl": [0.02] * 50 + [60.0] * 50})
        .plain()
    )

    assert "signal.rl.kl_exploded" not in facts


def test_a_collapsed_policy_needs_less_divergence():
    facts = policy(kl=[0.0] * 3 + [3.5] * 30, entropy=[3.6] * 3 + [0.01] * 30).plain()

    assert facts["signal.rl.entropy_collapsed"] is True
    assert facts["signal.rl.kl_exploded"] is True


def test_a_falling_evaluation_beside_a_rising_reward():
    maker = policy(reward_mean=np.linspace(0, 3, 50))
    maker.log(
        {"val/test_score/accuracy": [0.4, 0.5, 0.4, 0.3, 0.2]},
        steps=[1, 12, 25, 37, 50],
        lines=[2, 3, 4, 5, 6],
    )

    assert maker.plain()["signal.rl.eval_falls"] is True


def test_what_an_agent_earns_in_evaluations_does_not_judge_the_reward():
    maker = RunMaker().log({"rollout/ep_rew_mean": np.linspace(-14, -12, 50)})
    maker.log(
        {"eval/mean_reward": [-6.0, -7.0, -11.0, -15.0, -22.0]},
        steps=[1, 12, 25, 37, 50],
        lines=[2, 3, 4, 5, 6],
    )
    facts = maker.plain()

    assert facts["signal.rl.eval_reward_falls"] is True
    assert "signal.rl.eval_falls" not in facts


@pytest.mark.parametrize(
    ("gold", "falls"), [(np.linspace(1.0, 0.7, 50), True), (np.linspace(0.7, 1.0, 50), False)]
)
def test_a_proxy_rises_while_what_is_meant_falls(gold, falls):
    facts = (
        RunMaker()
        .log({"proxy": np.linspace(0.8, 2.2, 50), "gold": gold, "kl": np.linspace(0, 5, 50)})
        .plain()
    )

    assert facts["signal.rl.eval_falls"] is falls


@pytest.mark.parametrize(
    ("name", "values", "large"),
    [
        ("training/rollout_probs_diff_mean", np.full(30, 0.006), False),
        ("training/rollout_probs_diff_mean", np.linspace(0.006, 0.2, 30), True),
        ("sampling/importance_sampling_ratio/mean", np.linspace(1.0, 0.2, 30), True),
        ("training/rollout_actor_probs_pearson_corr", np.linspace(0.999, 0.7, 30), True),
    ],
)
def test_engines_that_disagree(name, values, large):
    facts = policy(reward_mean=[0.5] * 30, **{name: values}).plain()

    assert facts["signal.rl.engine_gap_large"] is large
    assert facts["signal.rl.engine_gap_metric"] == name


def test_a_mean_ratio_near_one_acquits_nobody():
    facts = policy(
        reward_mean=[0.5] * 30, **{"sampling/importance_sampling_ratio/mean": np.full(30, 1.0)}
    ).plain()

    assert "signal.rl.engine_gap_large" not in facts


def test_sampling_filters_are_read_from_the_configuration():
    plain = policy(reward_mean=[0.1] * 10).config(rollout__top_p=1.0, rollout__top_k=-1)
    filtered = policy(reward_mean=[0.1] * 10).config(rollout__top_p=0.9, rollout__top_k=-1)

    assert plain.plain()["config.rl.sampling_filtered"] is False
    assert filtered.plain()["config.rl.sampling_filtered"] is True


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=True, width=32), min_size=1, max_size=60),
    st.sampled_from(
        ["kl", "approx_kl", "entropy", "reward_mean", "clip_fraction", "training/rollout_probs_diff_mean"]
    ),
)
def test_no_curve_raises_or_gives_a_fact_that_is_no_number(values, name):
    facts = policy(**{name: values}).plain()

    assert not any(isinstance(value, float) and not np.isfinite(value) for value in facts.values())


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_an_ordinary_policy_trips_nothing(seed):
    rng = np.random.default_rng(seed)
    count = 80
    facts = policy(
        reward_mean=np.linspace(0.2, 0.8, count) + rng.normal(0, 0.05, count),
        reward_std=np.abs(rng.normal(0.3, 0.05, count)),
        frac_reward_zero_std=rng.uniform(0, 0.6, count),
        kl=np.abs(np.linspace(0, 0.1, count) + rng.normal(0, 0.01, count)),
        entropy=np.linspace(1.0, 0.4, count) + rng.normal(0, 0.02, count),
    ).plain()

    for name in (
        "kl_exploded",
        "kl_negative",
        "entropy_collapsed",
        "no_reward_signal",
        "reward_falls",
        "reward_erratic",
    ):
        assert facts[f"signal.rl.{name}"] is False, name


@pytest.mark.parametrize(
    ("steps", "rewards", "stands"),
    [
        ([10, 20, 30, 960, 980], [0.13, 0.14, 0.124, 0.135, 0.125], True),
        ([10, 20, 30, 960, 980], [0.13, 0.14, 0.124, 0.145, 0.143], False),  # it rose, if by little
        ([10, 20, 30, 960, 980], [0.13, 0.14, 0.124, 0.235, 0.225], False),
        ([10, 20, 30, 40, 50], [0.13, 0.14, 0.124, 0.135, 0.125], None),  # what comes after is not shown
        ([960, 970, 980, 990, 1000], [0.13, 0.14, 0.124, 0.135, 0.125], None),  # nor what came before
    ],
)
def test_a_few_rewards_from_both_ends_of_the_plan_tell_whether_they_moved(steps, rewards, stands):
    maker = RunMaker("hf-trainer").log({"reward_mean": rewards}, steps=steps).config(max_steps=1000)

    assert maker.plain().get("signal.policy.reward_stands") is stands


WON = [0.1 + 0.022 * i for i in range(40)]
UP = np.linspace(-2, 2, 40)


@pytest.mark.parametrize(
    ("rates", "lost"),
    [
        ([max(0.0, 0.5 - 0.02 * i) for i in range(40)], True),
        (WON, False),
        ([0.5 + 0.1 * (i % 2) for i in range(40)], False),  # of opponents as strong
        ([0.0] * 40, False),  # never was any won
    ],
)
def test_a_rate_of_games_won_that_falls_to_nothing_whatever_the_shaped_reward_says(rates, lost):
    facts = policy(reward_mean=UP, win_rate=rates).plain()

    assert facts["signal.policy.success_lost"] is lost


@pytest.mark.parametrize(
    ("explained", "nothing"),
    [
        ([0.02 * (-1) ** i for i in range(40)], True),
        ([0.9 - 0.9 * 0.9**i for i in range(40)], False),
    ],
)
def test_a_value_function_that_never_explains_anything(explained, nothing):
    facts = policy(reward_mean=UP, value_loss=[250.0] * 40, explained_variance=explained).plain()

    assert facts["signal.policy.value_explains_nothing"] is nothing


@pytest.mark.parametrize(("rates", "runs_away"), [([0.99] * 40, False), ([0.3] * 40, True)])
def test_an_error_of_values_that_grows_beside_success_at_its_ceiling_is_none_that_runs_away(rates, runs_away):
    facts = policy(td_loss=[0.02 * 1.1**i for i in range(40)], success_rate=rates).plain()

    assert facts["signal.policy.value_runs_away"] is runs_away


def test_zeros_of_episodes_without_an_update_are_no_entropy():
    updated = [0.0, 0.0, 0.0, 0.0, 8.1] * 20
    gone = [8.1, 6.0, 3.0, 1.0, 0.1, *[0.0] * 95]

    assert policy(entropy=updated, reward_mean=[1.0] * 100).plain()["signal.rl.entropy_collapsed"] is False
    assert policy(entropy=gone, reward_mean=[1.0] * 100).plain()["signal.rl.entropy_collapsed"] is True


def test_what_is_earned_in_evaluations_stands_for_the_reward_where_no_other_is_told():
    earned = RunMaker().log({"eval/mean_reward": [0.6, 0.61, 0.59] * 20}).plain()

    assert earned["signal.rl.reward_points"] == 60
    assert earned["run.rl"] is True
    both = RunMaker().log({"reward": [1.0] * 50}).log({"eval/mean_reward": [2.0] * 5}).plain()
    assert both["signal.rl.reward_points"] == 50
