"""Checkpoint rows, hooks, anomaly mode, sampling, and log lines as facts."""

from __future__ import annotations

import pytest
from make_run import INF, NAN, RunMaker, falling, norms


class TestEmbedding:
    def test_untrained_special_rows(self):
        facts = (
            RunMaker()
            .embedding(
                {6: 1e-8, 7: 2e-8, 2: 0.4}, median=0.5, names={6: "<|im_start|>", 7: "<|im_end|>", 2: "</s>"}
            )
            .plain()
        )

        assert facts["signal.embedding.special_rows_tiny"] is True
        assert facts["signal.embedding.tiny_token"] == "<|im_start|>"
        assert facts["signal.embedding.ordinary_rows_tiny"] is False
        assert facts["signal.embedding.special_row_rms_min"] == 1e-8

    def test_fresh_rows_beside_trained_ones_are_not_tiny(self):
        assert (
            RunMaker().embedding({6: 0.02}, median=0.5).plain()["signal.embedding.special_rows_tiny"] is False
        )

    def test_small_ordinary_rows_blame_the_norm(self):
        facts = RunMaker().embedding({6: 0.018}, median=0.02).plain()

        assert facts["signal.embedding.ordinary_rows_tiny"] is True
        assert facts["signal.embedding.special_rows_tiny"] is False

    def test_zero_row_of_a_padding_index_is_by_design(self):
        facts = RunMaker().embedding({0: 0.0, 6: 0.3}, names={0: "<pad>", 6: "<|im_end|>"}).plain()

        assert facts["signal.embedding.special_rows_tiny"] is False

    def test_unknown_special_tokens_leave_it_open(self):
        facts = RunMaker().embedding({}, names={}).plain()

        assert facts["signal.embedding.seen"] is True
        assert "signal.embedding.special_rows_tiny" not in facts

    def test_nonfinite_weights(self):
        facts = RunMaker().embedding({6: 0.3}, nonfinite=12).plain()

        assert facts["signal.checkpoint.nonfinite_elements"] == 12
        assert facts["signal.checkpoint.dtype"] == "float16"

    def test_input_embedding_and_not_the_head(self):
        maker = RunMaker().embedding({6: 1e-8}, name="lm_head.weight", median=0.4)

        assert maker.embedding({6: 0.2}, median=0.5).plain()["signal.embedding.special_rows_tiny"] is False


class TestModules:
    def test_forward_hook_names_the_origin(self):
        maker = RunMaker()
        maker.event("module_absmax", line=1, role="info", module="model.layers.2", value=59840.0)
        maker.event("nonfinite_hook", line=3, module="model.layers.3", pass_="forward")
        maker.event(
            "nonfinite_hook",
            line=2,
            module="model.norm",
            pass_="backward",
            text="backward hook: NaN gradient in model.norm",
        )
        facts = maker.plain()

        assert facts["signal.module.first_nonfinite"] == "model.layers.3"
        assert facts["signal.module.first_nonfinite_pass"] == "forward"
        assert facts["signal.module.gradients_nonfinite"] is True
        assert facts["signal.module.activation_absmax"] == 59840.0
        assert facts["signal.module.activations_near_limit"] is True

    def test_small_activations(self):
        facts = RunMaker().event("module_absmax", role="info", module="model.layers.2", value=11.0).plain()

        assert facts["signal.module.activations_near_limit"] is False
        assert "signal.module.first_nonfinite" not in facts

    def test_detector_of_fairseq_gives_the_input(self):
        maker = RunMaker("fairseq").event(
            "nan_detector",
            module="decoder.layers.21",
            pass_="forward",
            value="Inf",
            input_max=512.0,
            input_min=-64000.0,
        )

        assert maker.plain()["signal.module.activation_absmax"] == 64000.0
        assert maker.plain()["signal.module.forward_nonfinite"] is True

    def test_report_after_which_the_run_goes_on_well_is_overcome(self):
        maker = RunMaker("fairseq").log({"loss": falling(40)})
        maker.event("nan_detector", line=55, module="decoder.layers.21", pass_="forward", value="Inf")

        assert maker.plain()["signal.module.forward_nonfinite"] is False


class TestAnomaly:
    @staticmethod
    def reported(function="CompiledFunctionBackward", *, line=15, losses=None, grads=None):
        maker = RunMaker().log({"loss": losses or falling(40), **({"grad_norm": grads} if grads else {})})
        return maker.event(
            "autograd_anomaly", line=line, role="root_candidate", function=function, output_index=0
        )

    def test_report_that_ends_the_run(self):
        facts = self.reported(line=405).plain()

        assert facts["signal.anomaly.seen"] is True
        assert facts["signal.anomaly.compiled"] is True
        assert facts["signal.anomaly.false_alarm"] is False
        assert facts["signal.nonfinite_grad.harmful"] is True
        assert facts["config.anomaly.enabled"] is True

    def test_report_during_calibration_is_a_false_alarm(self):
        grads = norms(40)
        grads[6] = INF
        facts = self.reported(grads=grads).plain()

        assert facts["signal.anomaly.false_alarm"] is True
        assert facts["signal.nonfinite_grad.harmful"] is False
        assert "signal.onset.lasting" not in facts

    def test_nan_loss_after_the_report_is_no_false_alarm(self):
        assert self.reported(losses=falling(20) + [NAN] * 20).plain()["signal.anomaly.false_alarm"] is False

    @pytest.mark.parametrize(
        ("function", "unsafe"),
        [
            ("SqrtBackward0", True),
            ("LogBackward0", True),
            ("LogSoftmaxBackward0", False),
            ("MmBackward0", False),
            ("NormBackward1", True),
        ],
    )
    def test_functions_with_an_infinite_slope(self, function, unsafe):
        assert self.reported(function).plain()["signal.anomaly.unsafe_math"] is unsafe

    def test_finite_loss_of_the_failing_steps(self):
        maker = RunMaker().log({"loss": falling(6)})
        for step in range(1, 7):
            maker.event(
                "autograd_anomaly",
                line=10 * step - 5,
                role="root_candidate",
                function="MmBackward0",
                step=step,
            )
        facts = maker.plain()

        assert facts["signal.nonfinite_grad.with_finite_loss"] is True
        assert facts["signal.onset.step"] == 1


class TestSampling:
    def test_after_nan(self):
        maker = RunMaker().log({"loss": falling(10) + [NAN] * 10}).event("sampling_nonfinite", line=300)
        facts = maker.plain()

        assert facts["signal.sampling_error.seen"] is True
        assert facts["signal.sampling_error.after_nonfinite"] is True

    def test_in_a_sound_run(self):
        facts = RunMaker().log({"loss": falling(10)}).event("sampling_nonfinite", line=300).plain()

        assert facts["signal.sampling_error.after_nonfinite"] is False

    def test_repeated_token(self):
        facts = RunMaker().event("generation_repeats", token="!", times=16).plain()

        assert facts["signal.generation.repeats_one_token"] is True

    def test_check_of_the_attention_mask(self):
        assert (
            RunMaker()
            .event("fully_masked_attention_row", rows=3)
            .plain()["signal.attention.fully_masked_rows"]
            is True
        )
        assert (
            RunMaker()
            .event("fully_masked_attention_row", rows=0)
            .plain()["signal.attention.fully_masked_rows"]
            is False
        )


class TestEvents:
    def test_count_steps_and_fields(self):
        maker = RunMaker().log({"loss": falling(20)})
        maker.event("cuda_oom", line=45, role="root_candidate", step=5, tried_gib=2.5)
        maker.event("cuda_oom", line=95, role="root_candidate", step=10, tried_gib=4.0)
        facts = maker.plain()

        assert facts["event.cuda_oom.count"] == 2
        assert facts["event.cuda_oom.first_step"] == 5
        assert facts["event.cuda_oom.last_step"] == 10
        assert facts["event.cuda_oom.tried_gib"] == 2.5

    def test_absent_kinds_are_unknown(self):
        assert not [
            name for name in RunMaker().log({"loss": falling(5)}).plain() if name.startswith("event.")
        ]

    def test_last_error_of_the_log(self):
        maker = (
            RunMaker()
            .event("gradient_skipped", line=10, value="nan")
            .event("cuda_oom", line=20, role="root_candidate")
        )
        facts = maker.event("launcher_kill", line=30, role="teardown").plain()

        assert facts["event.cuda_oom.is_last_error"] is True
        assert facts["event.gradient_skipped.is_last_error"] is False
        assert "event.launcher_kill.is_last_error" not in facts

    def test_traceback_and_its_message_share_the_last_line(self):
        maker = RunMaker().event("cuda_oom", line=20, role="root_candidate")
        facts = maker.event(
            "python_traceback", line=20, role="root_candidate", exception="OutOfMemoryError"
        ).plain()

        assert facts["event.cuda_oom.is_last_error"] is True
        assert facts["event.python_traceback.is_last_error"] is True

    def test_error_without_a_step_takes_that_of_the_row_beside_it(self):
        facts = (
            RunMaker().log({"loss": falling(20)}).event("cuda_oom", line=203, role="root_candidate").plain()
        )

        assert facts["event.cuda_oom.first_step"] == 20


class TestBaseline:
    @staticmethod
    def pair(ours, theirs, *, baseline_grad=None):
        bad = (
            RunMaker("hf-trainer")
            .log({"loss": falling(40, 2.4, 2.3), "grad_norm": [NAN] * 40})
            .config(**ours)
        )
        good = (
            RunMaker("hf-trainer")
            .log({"loss": falling(40), "grad_norm": baseline_grad or norms(40)})
            .config(**theirs)
        )
        return bad.facts(good.run())

    def test_only_the_packing_differs(self):
        ours = {"packing": False, "fp16": True, "learning_rate": 1e-4, "seed": 1, "output_dir": "a"}
        facts = self.pair(ours, {**ours, "packing": True, "seed": 2, "output_dir": "b"})

        assert facts.plain["compare.baseline.given"] is True
        assert facts.plain["compare.baseline.healthy"] is True
        assert facts.plain["compare.baseline.differs_in_packing"] is True
        assert facts.plain["compare.baseline.only_difference"] == "data.packing"
        assert facts.plain["compare.baseline.differences"] == 1
        assert facts["compare.baseline.differs_in_packing"].refs[0].line == 1

    def test_precision_has_several_keys_and_counts_once(self):
        facts = self.pair({"fp16": True, "bf16": False}, {"fp16": False, "bf16": True}).plain

        assert facts["compare.baseline.differs_in_precision"] is True
        assert facts["compare.baseline.only_difference"] == "precision"

    def test_two_differences_have_no_single_name(self):
        ours = {"packing": False, "attn_implementation": "eager", "fp16": True}
        facts = self.pair(ours, {"packing": True, "attn_implementation": "sdpa", "fp16": True}).plain

        assert facts["compare.baseline.differences"] == 2
        assert "compare.baseline.only_difference" not in facts

    def test_key_known_in_one_run_only_is_no_difference(self):
        facts = self.pair({"fp16": True}, {"fp16": True, "packing": True}).plain

        assert "compare.baseline.differs_in_packing" not in facts
        assert facts["compare.baseline.differences"] == 0

    def test_baseline_that_fails_too(self):
        facts = self.pair({"fp16": True}, {"bf16": True}, baseline_grad=[NAN] * 40).plain

        assert facts["compare.baseline.healthy"] is False

    @pytest.mark.parametrize(("factor", "apart"), [(0.4, True), (2.5, True), (1.05, False)])
    @pytest.mark.parametrize("steps", [True, None])
    def test_another_gradient_norm_at_equal_losses(self, factor, apart, steps):
        losses, norm = falling(20), norms(20)
        ours = RunMaker().log(
            {"loss": [v * 1.001 for v in losses], "grad_norm": [v * factor for v in norm]}, steps=steps
        )
        facts = ours.plain(RunMaker().log({"loss": losses, "grad_norm": norm}, steps=steps).run())

        assert facts["compare.baseline.norm_ratio"] == pytest.approx(factor)
        assert facts["compare.baseline.norms_apart"] is apart

    def test_norms_of_other_losses_are_not_compared(self):
        ours = RunMaker().log({"loss": falling(20), "grad_norm": [9.0] * 20}, steps=None)
        baseline = RunMaker().log(
            {"loss": [v + 1.0 for v in falling(20)], "grad_norm": norms(20)}, steps=None
        )

        assert "compare.baseline.norms_apart" not in ours.plain(baseline.run())

    def test_first_parting_step(self):
        losses = falling(40)
        ours = RunMaker().log({"loss": losses[:20] + [v * 1.2 for v in losses[20:]]})

        assert ours.plain(RunMaker().log({"loss": losses}).run())["compare.baseline.first_parting_step"] == 21

    def test_nan_parts_the_runs(self):
        losses = falling(40)
        ours = RunMaker().log({"loss": losses[:30] + [NAN] * 10})

        assert ours.plain(RunMaker().log({"loss": losses}).run())["compare.baseline.first_parting_step"] == 31

    def test_trained_special_rows(self):
        ours = RunMaker().log({"loss": falling(20)}).embedding({6: 1e-8})

        facts = ours.plain(RunMaker().log({"loss": falling(20)}).embedding({6: 0.3}).run())
        assert facts["compare.baseline.differs_in_checkpoint"] is True

    def test_equal_numbers_in_other_spellings(self):
        facts = self.pair({"learning_rate": "1e-4"}, {"learning_rate": 0.0001}).plain

        assert facts["compare.baseline.differs_in_learning_rate"] is False
        assert facts["compare.baseline.differences"] == 0


def test_an_error_of_the_backward_pass_in_anomaly_mode_is_no_nan():
    maker = RunMaker().event("autograd_anomaly_warning", line=5, function="AddmmBackward0")
    assert maker.plain()["signal.anomaly.seen"] is True

    facts = maker.event(
        "autograd_misuse", line=9, role="root_candidate", form="a tensor was changed in place"
    ).plain()

    assert "signal.anomaly.seen" not in facts
