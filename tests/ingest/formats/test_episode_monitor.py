import math

import pytest
from structured_reading import read_files

from analyzer import diagnose
from analyzer.ingest.base import Match
from analyzer.ingest.formats.metrics.episode_monitor import EpisodeMonitor
from analyzer.ingest.walk import make_candidate

MONITOR = EpisodeMonitor()
START = '#{"t_start": 1700000000.5, "env_id": "Cart-v1"}\n'


def sniffed(tmp_path, text):
    path = tmp_path / "0.monitor.csv"
    path.write_text(text)
    return MONITOR.sniff(make_candidate(path, "0.monitor.csv"))


def test_an_episode_ends_at_the_step_of_the_environment_that_its_lengths_add_up_to():
    run = read_files({"0.monitor.csv": f"{START}r,l,t\n21.5,20,0.5\n-3.0,30,1.5\nnan,50,2.0\n"}, MONITOR)
    rewards = run.metrics.series("reward_mean")

    assert rewards.step.tolist() == [20, 50, 100]
    assert rewards.value[:2].tolist() == [21.5, -3.0]
    assert math.isnan(rewards.value[2])
    assert rewards.line.tolist() == [3, 4, 5]
    assert rewards.time_s.tolist() == [1700000001.0, 1700000002.0, 1700000002.5]
    assert run.metrics.series("episode_length_mean").value.tolist() == [20, 30, 50]


def test_a_last_row_that_may_be_cut_and_a_row_of_words_are_gaps_and_further_columns_are_left_alone():
    rows = "1.0,5,0.1,True\nlost,5,0.2,False\n1.0,5,0.3,True\n2.0,5,0"
    run = read_files({"m.csv": f"{START}r,l,t,is_success\n{rows}"}, MONITOR)

    assert run.metrics.series("reward_mean").value.tolist() == [1.0, 1.0]
    assert [gap.rows_lost for gap in run.gaps] == [2]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (f"{START}r,l,t\n", Match.SURE),
        (f"{START}r,l,t,is_success\n", Match.SURE),
        ('#{"t_start": \n' + "r,l,t\n", Match.NO),
        ('#{"env_id": "Cart-v1"}\nr,l,t\n1,2,3\n', Match.NO),
        (f"{START}reward,length,time\n", Match.NO),
        ("r,l,t\n1,2,3\n", Match.NO),
        ("# a comment\nstep,loss\n1,2\n", Match.NO),
    ],
)  # fmt: skip
def test_only_the_comment_and_the_columns_together_are_a_monitor(tmp_path, text, match):
    assert sniffed(tmp_path, text) is match


def test_rewards_of_episodes_that_rise_through_their_noise_are_read_as_a_course(tmp_path):
    (tmp_path / "monitor.csv").write_text(
        f"{START}r,l,t\n" + "".join(f"{10 + i * 2 + (i * 37) % 41}.0,50,{i}.5\n" for i in range(120))
    )
    dx = diagnose(tmp_path)

    assert (dx.status, dx.summary.partition(" (")[0]) == ("healthy", "no fault found in 120 rewards")
