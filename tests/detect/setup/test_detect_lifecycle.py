"""Restarts, writers, trackers, signs of life, hosts that fail again; slow devices and growing host memory."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from make_run import RunMaker, falling


class TestRestarts:
    def test_restarts_without_a_new_step(self):
        maker = RunMaker().log({"loss": falling(10)}, lines=range(1, 11))
        for number in range(4):
            maker.event("elastic_restart", line=20 + number, role="info", time_s=60.0 * number)
        facts = maker.plain()

        assert facts["lifecycle.restarts"] == 4
        assert facts["lifecycle.restarts_without_progress"] == 4
        assert facts["lifecycle.restart_span_s"] == 180.0

    def test_progress_after_each_restart(self):
        maker = RunMaker().log({"loss": falling(40)}, lines=range(10, 410, 10))
        for line in (101, 201, 301):
            maker.event("elastic_restart", line=line, role="info")

        assert maker.plain()["lifecycle.restarts_without_progress"] == 0

    def test_a_run_that_never_restarted_says_nothing(self):
        assert "lifecycle.restarts" not in RunMaker().log({"loss": falling(40)}).plain()


class TestWriters:
    def test_two_runs_in_one_directory(self):
        maker = RunMaker().log({"loss": falling(60)}, path="a.log")
        maker.log({"loss": falling(50, start=9.0, seed=3)}, path="b.log")

        assert maker.plain()["lifecycle.writers_overlap"] is True

    def test_a_copy_is_no_second_writer(self):
        maker = RunMaker().log({"loss": falling(60)}, path="a.log").log({"loss": falling(60)}, path="b.log")

        assert "lifecycle.writers_overlap" not in maker.plain()


def test_a_gap_of_the_tracker_that_the_log_fills():
    maker = RunMaker().log({"loss": falling(100)})
    steps = [*range(1, 31), *range(70, 101)]
    maker.log({"loss": falling(61)}, path="run.wandb", ingestor="wandb", steps=steps)

    assert maker.plain()["lifecycle.tracker_gap"] is True


class TestLife:
    def run_of(self, age_s, stamp_s):
        maker = RunMaker().log({"loss": falling(30)}).config(max_steps=1000)
        maker.event("nccl_warn", role="info", time_s=stamp_s)
        maker.builder.sources[0] = replace(maker.builder.sources[0], age_s=age_s)
        return maker.plain()

    def test_written_just_now(self):
        facts = self.run_of(90.0, time.time() - 100)

        assert facts["lifecycle.written_ago_s"] == 60.0
        assert facts["lifecycle.stamps_recent"] is True
        assert facts["run.log_truncated"] is True

    def test_a_fresh_copy_of_an_old_log(self):
        assert self.run_of(5.0, 1.0e9)["lifecycle.stamps_recent"] is False


class TestLemon:
    def test_failures_hours_apart_count_and_lines_of_one_failure_do_not(self):
        maker = RunMaker()
        for hour in range(3):
            for second in range(5):
                maker.event(
                    "xid_device", line=10 * hour + second, role="root_candidate", host="node-a", time_s=3600.0 * hour + second
                )  # fmt: skip
        facts = maker.plain()

        assert facts["lifecycle.lemon_host"] == "node-a"
        assert facts["lifecycle.lemon_failures"] == 3
        assert facts["lifecycle.failures_elsewhere"] == 0

    def test_clean_up_and_information_are_no_failures(self):
        maker = RunMaker().event("gpu_xid", role="cascade", host="node-a", code=45)
        maker.event("pcie_error", role="info", host="node-a")

        assert "lifecycle.lemon_failures" not in maker.plain()


class TestDevices:
    def of_clocks(self, clocks):
        columns = {f"system.gpu.{gpu}.smClock": list(values) for gpu, values in enumerate(clocks)}
        return RunMaker().log(columns, path="run.wandb", ingestor="wandb", steps=None).plain()

    def test_one_slow_clock(self):
        facts = self.of_clocks([[1900.0] * 40, [1200.0] * 40, [1890.0] * 40, [1910.0] * 40])

        assert facts["hardware.slow_clock_gpu"] == 1
        assert facts["hardware.slow_clock_ratio"] == pytest.approx(1200 / 1900)

    def test_a_gpu_that_computes_nothing_is_not_slow(self):
        clocks = {f"system.gpu.{gpu}.smClock": [1900.0 if gpu else 210.0] * 40 for gpu in range(4)}
        busy = {f"system.gpu.{gpu}.gpu": [97.0 if gpu else 0.0] * 40 for gpu in range(4)}
        maker = RunMaker().log(clocks | busy, path="run.wandb", ingestor="wandb", steps=None)

        assert "hardware.slow_clock_gpu" not in maker.plain()

    @settings(max_examples=25)
    @given(seed=st.integers(0, 10_000), level=st.floats(300, 2000))
    def test_healthy_clocks_name_nobody(self, seed, level):
        scatter = np.random.default_rng(seed)
        clocks = [level * (1 + 0.03 * scatter.standard_normal(60)) for _ in range(8)]

        assert "hardware.slow_clock_gpu" not in self.of_clocks(clocks)


class TestHostMemory:
    def of_memory(self, values):
        return RunMaker().log({"host_memory_gib": [float(v) for v in values]}, steps=None).plain()

    def test_a_leak(self):
        assert self.of_memory(100 + np.arange(200))["hardware.host_memory_grows"] is True

    @settings(max_examples=25)
    @given(seed=st.integers(0, 10_000), filled=st.integers(1, 30))
    def test_a_cache_that_fills_and_then_is_level_is_no_leak(self, seed, filled):
        level = np.minimum(np.arange(200) / filled, 1.0) * 100 + 50
        noise = np.random.default_rng(seed).standard_normal(200)

        assert self.of_memory(level + noise)["hardware.host_memory_grows"] is False


@pytest.mark.parametrize(("line", "state"), [(30, "unknown"), (61, "completed")])
def test_a_cap_behind_which_an_agent_goes_on_is_no_end(line, state):
    maker = RunMaker().log({"reward_mean": falling(60)}, lines=range(1, 61))
    maker.event("configured_stop", line=line, role="info", rule="Max steps reached")

    assert maker.plain().get("ended.state", "unknown") == state
