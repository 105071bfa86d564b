"""How far a run came and how it ended; the rate that was applied; where trouble began; curves of several files."""

from __future__ import annotations

import numpy as np
import pytest
from make_run import INF, NAN, RunMaker, falling, norms

from analyzer.detect.curve import align, all_series, lineage
from analyzer.model.run import LogEnd


class TestMeeting:
    """Where the log stops as ranks are about to meet, of the two ranks that a run has."""

    @staticmethod
    def meets(*ends, **fields):
        maker = RunMaker().event("ranks_meeting", role="info", line=9, **fields)
        for source, line in ends:
            maker.file().log_end(LogEnd(source, line, "some words", torn=False))
        return maker.plain().get("run.stops_at_meeting")

    def test_the_first_rank_waits(self):
        assert self.meets((0, 9), rank=0, member=1, of=2) is True

    @pytest.mark.parametrize("fields", [{"rank": 0, "member": 1, "of": 1}, {"rank": 1, "member": 2, "of": 2}])
    def test_a_lonely_rank_and_a_silenced_one_do_not(self, fields):
        assert self.meets((0, 9), **fields) is False

    def test_who_names_no_rank_is_the_first_unless_others_name_theirs(self):
        def facts(*ranks):
            maker = RunMaker()
            for line, rank in enumerate(ranks, 8):
                maker.event(
                    "ranks_meeting", role="info", line=line, **({} if rank is None else {"rank": rank})
                )
            maker.file().log_end(LogEnd(0, 9, "some words", torn=False))
            return maker.plain()["run.stops_at_meeting"]

        assert facts(None, None) is True
        assert facts(None, 5) is False  # a part of a log that lacks the first rank

    def test_another_log_goes_on(self):
        assert self.meets((0, 9), (1, 300)) is False


class TestEnding:
    def test_silence_is_unknown(self):
        facts = RunMaker().log({"loss": falling(20)}).plain()

        assert "run.completed" not in facts
        assert "run.exit_code" not in facts
        assert "run.log_truncated" not in facts

    def test_stated_end(self):
        maker = RunMaker("hf-trainer").log({"loss": falling(20)})
        maker.event("training_completed", line=300, role="info", train_runtime_s=12.5)

        assert maker.plain()["run.completed"] is True

    def test_all_planned_steps_done(self):
        assert RunMaker().log({"loss": falling(20)}).config(max_steps=20).plain()["run.completed"] is True

    def test_stopped_short_without_a_word(self):
        facts = RunMaker().log({"loss": falling(20)}).config(max_steps=500).plain()

        assert "run.completed" not in facts
        assert facts["run.log_truncated"] is True

    def test_traceback_at_the_end(self):
        maker = RunMaker().log({"loss": falling(20)})
        maker.event("python_traceback", line=300, role="root_candidate", exception="RuntimeError")

        assert maker.plain()["run.completed"] is False

    def test_traceback_that_was_caught(self):
        maker = RunMaker().log({"loss": falling(20)})
        maker.event("python_traceback", line=55, role="root_candidate", exception="RuntimeError")

        assert "run.completed" not in maker.plain()

    def test_exit_code_of_the_logger(self):
        maker = RunMaker().log({"loss": falling(20)}).attempt("train.log", 1.0, exit_code=-9)
        facts = maker.plain()

        assert facts["run.exit_code"] == -9
        assert facts["run.completed"] is False

    @pytest.mark.parametrize(("line", "done"), [(300, None), (5, True)])
    def test_a_tracker_that_notes_success_after_an_exception_is_not_believed(self, line, done):
        maker = RunMaker().log({"loss": falling(20)})
        maker.event("python_traceback", line=line, role="root_candidate", exception="KeyError")
        maker.attempt("train.log", 1.0, exit_code=0)

        assert maker.plain().get("run.completed") is done

    def test_exit_code_of_the_launcher(self):
        maker = (
            RunMaker()
            .log({"loss": falling(20)})
            .event("launcher_exit_code", line=300, role="cascade", code=1)
        )

        assert maker.plain()["run.exit_code"] == 1

    @pytest.mark.parametrize(("other", "done"), [("", True), ("nccl_timeout", None)])
    def test_processes_that_ended_well(self, other, done):
        maker = RunMaker().log({"loss": falling(20)}).event("process_exit_ok", line=300, pid=7)
        if other:
            maker.event(other, line=200, role="root_candidate")

        assert maker.plain().get("run.completed") is done

    def test_bad_code_after_a_stated_end(self):
        """A process group that is not destroyed may abort at exit."""
        maker = RunMaker().log({"loss": falling(20)}).event("training_completed", line=300, role="info")
        facts = maker.event("launcher_exit_code", line=310, role="cascade", code=-6).plain()

        assert facts["run.completed"] is True
        assert facts["run.exit_code"] == -6

    def test_end_of_an_earlier_attempt_does_not_count(self):
        maker = RunMaker()
        maker.log({"loss": falling(20)}, path="a.log").attempt("a.log", 1.0)
        maker.event("training_completed", line=300, role="info", path="a.log")
        maker.log({"loss": falling(5)}, path="b.log", first=21).attempt("b.log", 2.0)
        facts = maker.plain()

        assert "run.completed" not in facts
        assert facts["run.attempts"] == 2


class TestFrameworks:
    def test_named(self):
        facts = RunMaker("hf-trainer", "deepspeed", "unsloth").log({"loss": falling(5)}).plain()

        assert facts["run.deepspeed"] is True
        assert facts["run.hf_trainer"] is True
        assert facts["run.unsloth"] is True
        assert facts["run.rl"] is False

    def test_deepspeed_switched_off(self):
        assert RunMaker("hf-trainer").config(deepspeed=None).plain()["run.deepspeed"] is False

    def test_preference_tuning_is_no_reinforcement_learning(self):
        assert (
            RunMaker()
            .log({"loss": [0.7], "rewards/chosen": [0.1], "rewards/margins": [0.1]})
            .plain()["run.rl"]
            is False
        )

    def test_other_loop(self):
        assert RunMaker("mmengine").plain()["run.hf_trainer"] is False


class TestLearningRate:
    def test_frozen_by_skipped_steps(self):
        rate = [1e-4 * i / 10 for i in range(10)] + [9e-5] * 30
        maker = RunMaker("hf-trainer").log(
            {"loss": falling(40), "grad_norm": norms(10) + [NAN] * 30, "learning_rate": rate}
        )
        facts = maker.plain()

        assert facts["signal.learning_rate.frozen"] is True
        assert facts["signal.learning_rate.full_at_once"] is False

    def test_zero_from_the_first_row_on(self):
        maker = RunMaker("hf-trainer").log(
            {"loss": [0.0] * 30, "grad_norm": [NAN] * 30, "learning_rate": [0.0] * 30}
        )
        facts = maker.config(learning_rate=1e-4, fp16=True).plain()

        assert facts["signal.learning_rate.always_zero"] is True
        assert facts["signal.learning_rate.frozen"] is True

    def test_moving_in_spite_of_nan(self):
        """bf16 has no scaler: steps are taken, with NaN."""
        rate = list(np.linspace(1e-4, 1e-5, 40))
        maker = RunMaker("hf-trainer").log(
            {"loss": falling(40), "grad_norm": norms(10) + [NAN] * 30, "learning_rate": rate}
        )

        assert maker.plain()["signal.learning_rate.frozen"] is False

    def test_constant_by_schedule_is_open(self):
        maker = RunMaker("hf-trainer").log(
            {"loss": falling(40), "grad_norm": [NAN] * 40, "learning_rate": [1e-4] * 40}
        )

        assert "signal.learning_rate.frozen" not in maker.config(lr_scheduler_type="constant").plain()

    def test_zero_rate_under_endless_overflow(self):
        maker = RunMaker("deepspeed").log({"loss": falling(18), "learning_rate": [0.0] * 18})
        maker.config("deepspeed", fp16__enabled=True, optimizer__params__lr=1e-4)
        maker.overflows([2.0**power for power in range(16, -1, -1)]).event(
            "loss_scale_minimum", line=186, role="root_candidate"
        )

        assert maker.plain()["signal.learning_rate.frozen"] is True

    def test_rising_at_onset(self):
        rate = [1e-6 * (i + 1) for i in range(50)]
        facts = (
            RunMaker()
            .log({"loss": falling(30) + [NAN] * 20, "learning_rate": rate})
            .config(learning_rate=1e-4)
            .plain()
        )

        assert facts["signal.learning_rate.rising_at_onset"] is True
        assert facts["signal.learning_rate.at_onset_share"] == pytest.approx(0.31)

    def test_decayed_at_onset(self):
        rate = list(np.linspace(1e-3, 1e-4, 50))
        facts = RunMaker().log({"loss": falling(40) + [NAN] * 10, "learning_rate": rate}).plain()

        assert facts["signal.learning_rate.rising_at_onset"] is False
        assert facts["signal.learning_rate.at_onset_share"] < 0.4

    def test_full_rate_in_the_first_step(self):
        assert (
            RunMaker()
            .log({"loss": falling(20), "lr": [3e-4] * 20})
            .plain()["signal.learning_rate.full_at_once"]
            is True
        )

    def test_first_row_after_a_possible_warmup_is_open(self):
        facts = RunMaker().log({"loss": falling(20), "lr": [3e-4] * 20}, first=500, every=500).plain()

        assert "signal.learning_rate.full_at_once" not in facts

    def test_cumulative_counter_of_deepspeed(self):
        facts = RunMaker("deepspeed").log({"skipped": [5, 10, 15, 20, 30, 40]}, first=10, every=10).plain()

        assert facts["signal.skipped_steps.share"] == pytest.approx(1.0)
        assert facts["signal.skipped_steps.total"] == 40

    def test_counter_of_megatron_begins_anew_at_each_print(self):
        facts = (
            RunMaker("megatron")
            .log({"number of skipped iterations": [3, 0, 0, 1, 0]}, first=10, every=10)
            .plain()
        )

        assert facts["signal.skipped_steps.share"] == 0.0
        assert facts["signal.skipped_steps.total"] == 4


class TestOnset:
    def test_late_onset(self):
        facts = RunMaker().log({"loss": falling(300) + [NAN] * 50}).plain()

        assert facts["signal.onset.step"] == 301
        assert facts["signal.onset.late"] is True
        assert facts["signal.onset.after_healthy_stretch"] is True
        assert facts["signal.onset.in_first_steps"] is False
        assert facts["signal.onset.lasting"] is True
        assert facts["signal.onset.healthy_steps"] == 300

    def test_first_logged_row_counts_as_the_first_steps(self):
        facts = RunMaker().log({"loss": [NAN] * 5}, first=100, every=100).plain()

        assert facts["signal.onset.in_first_steps"] is True
        assert facts["signal.onset.after_healthy_stretch"] is False

    def test_gradient_before_loss(self):
        columns = {"loss": falling(30) + [NAN] * 20, "grad_norm": norms(25) + [NAN] * 25}

        assert RunMaker().log(columns).plain()["signal.onset.step"] == 26

    def test_early_calibration_is_not_the_onset(self):
        columns = {"loss": falling(90) + [NAN] * 10, "grad_norm": [INF, INF, *norms(88), *[NAN] * 10]}

        assert RunMaker().log(columns).plain()["signal.onset.step"] == 91

    def test_isolated_nan_loss_is_an_onset_that_did_not_last(self):
        losses = falling(100)
        losses[50] = NAN
        facts = RunMaker().log({"loss": losses}).plain()

        assert facts["signal.onset.step"] == 51
        assert facts["signal.onset.lasting"] is False

    def test_resumed_run_counts_from_its_first_row(self):
        facts = RunMaker().log({"loss": [*falling(3), NAN, NAN]}, first=5010, every=10).plain()

        assert facts["signal.onset.healthy_steps"] == 30


class TestCurve:
    def test_fullest_series_with_steps_wins(self):
        maker = RunMaker().log({"loss": falling(30)}, steps=False)
        maker.log({"train/loss": falling(25)}, path="events.out.tfevents", ingestor="tensorboard")
        series = all_series(maker.run(), "loss")

        assert len(series) == 2
        assert series[0].logged_as == "train/loss"

    def test_text_wins_a_tie(self):
        maker = RunMaker().log(
            {"train/loss": falling(30)}, path="events.out.tfevents", ingestor="tensorboard"
        )
        maker.log({"loss": falling(30)})

        assert all_series(maker.run(), "loss")[0].logged_as == "loss"

    def test_epoch_means_are_not_mixed_with_step_losses(self):
        maker = RunMaker().log({"loss": falling(100)})
        maker.log({"epoch_loss": [9.0, 9.0]}, steps=[50, 100])

        assert maker.plain()["signal.loss.max"] < 9.0

    def test_one_rank_speaks_for_all(self):
        maker = RunMaker()
        for rank in range(4):
            maker.file(f"rank{rank}.log").metrics(
                "loss",
                steps=list(range(1, 31)),
                values=[float(rank + 1)] * 30,
                lines=list(range(1, 31)),
                rank=rank,
            )
        facts = maker.plain()

        assert facts["signal.loss.points"] == 30
        assert facts["signal.loss.first"] == 1.0

    def test_rotated_log_is_one_curve(self):
        maker = (
            RunMaker()
            .log({"loss": falling(50)}, path="train.log.1")
            .log({"loss": falling(50)}, path="train.log", first=51)
        )

        assert maker.plain()["signal.loss.points"] == 100

    def test_checkpoint_states_are_prefixes_of_one_another(self):
        maker = RunMaker("hf-trainer")
        losses = falling(100)
        for count in (40, 80, 100):
            maker.log(
                {"loss": losses[:count]},
                path=f"checkpoint-{count}/trainer_state.json",
                ingestor="trainer-state",
            )

        assert maker.plain()["signal.loss.points"] == 100

    def test_restart_replaces_what_it_repeats(self):
        maker = RunMaker()
        maker.log({"loss": [1.0] * 100}, path="a.log").attempt("a.log", 1.0)
        maker.log({"loss": [2.0] * 40}, path="b.log", first=81).attempt("b.log", 2.0)
        series = all_series(maker.run(), "loss")[0]
        current, beyond = lineage(series)

        assert int(current.sum()) == 120
        assert float(series.value[current][80]) == 2.0
        assert not beyond.any()

    def test_repeated_steps_align_by_line(self):
        steps = [1, 2, 3, 1, 2, 3]
        maker = RunMaker().log({"loss": [1.0] * 6, "grad_norm": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]}, steps=steps)
        run = maker.run()

        assert list(align(all_series(run, "loss")[0], all_series(run, "grad_norm")[0])) == [0, 1, 2, 3, 4, 5]

    def test_curves_that_stand_in_one_line_align_by_step(self):
        """A history that is written as one line of JSON."""
        maker = RunMaker().log({"loss": [1.0, 0.5, 0.2]}, steps=[1, 2, 3], lines=[1, 1, 1])
        maker.log({"accuracy": [0.2, 0.6, 0.9]}, steps=[1, 2, 3], lines=[1, 1, 1])
        run = maker.run()

        assert list(align(all_series(run, "loss")[0], all_series(run, "accuracy")[0])) == [0, 1, 2]

    def test_restart_within_one_file(self):
        """A log that is appended to: the step falls back to the checkpoint."""
        losses = falling(100) + [NAN] * 20 + falling(60, 1.6, 1.5)
        maker = RunMaker().log({"loss": losses}, steps=[*range(1, 121), *range(81, 141)])
        facts = maker.plain()

        assert facts["signal.nonfinite_loss.seen"] is False
        assert facts["signal.nonfinite_loss.overcome_by_restart"] is True
        assert facts["signal.loss.points"] == 140

    def test_steps_that_begin_anew_with_each_epoch_are_no_restart(self):
        maker = RunMaker().log({"loss": falling(90)}, steps=[*range(1, 31)] * 3)

        assert maker.plain()["signal.loss.points"] == 90

    def test_rows_that_a_reader_hands_in_late_stand_where_their_lines_are(self):
        """Megatron leaves a NaN loss out of the line; the reader adds it when the file is at its end."""
        maker = RunMaker("megatron").log(
            {"lm loss": falling(20)},
            steps=[*range(1, 11), *range(16, 26)],
            lines=[*range(1, 11), *range(16, 26)],
        )
        maker.log({"lm loss": [NAN] * 5}, steps=range(11, 16), lines=range(11, 16))
        facts = maker.plain()

        assert facts["signal.nonfinite_loss.first_step"] == 11
        assert facts["signal.nonfinite_loss.persists"] is False

    def test_rows_without_steps_align_by_line(self):
        maker = RunMaker().log({"loss": [1.0, 2.0, 3.0]}, steps=False, lines=[5, 9, 13])
        maker.log({"grad_norm": [NAN, 0.5]}, steps=False, lines=[9, 13])
        run = maker.run()

        assert list(align(all_series(run, "loss")[0], all_series(run, "grad_norm")[0])) == [-1, 0, 1]


@pytest.mark.parametrize(("planned", "state"), [(60, "completed"), (300, "interrupted")])
def test_a_notebook_that_stayed_open_behind_its_training_has_no_exit_record_either(planned, state):
    maker = RunMaker().log({"loss": [2.0 * 0.98**n for n in range(60)]}, path="run.wandb")
    maker.config(train__max_steps=planned)
    maker.event("tracker_no_exit_record", path="run.wandb", tracker="W&B", time_s=1.7e9, line=700)

    assert maker.plain()["ended.state"] == state
