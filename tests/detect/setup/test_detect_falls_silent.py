"""A console log of a training that just stops, with neither an end nor an error."""

from __future__ import annotations

import pytest
from make_run import RunMaker, falling

from analyzer.model.run import LogEnd

SET_UPS = (
    "14:02:11 | INFO | rank 3 is ready",
    "Time to load fused_lamb op: 3.25 seconds",
    "  0%|          | 0/40 [00:00<?, ?it/s]",
    "I0301 learning.py:7] Saving checkpoint to out/model.ckpt",
    "WARNING - advancing the dataloader by 700 steps",
)
BAR = "[>>>>>>>>>>>>>>>>>>>>>>>>>>] 90/90, 3.0 task/s, elapsed: 30s, ETA:     0s"


def stopping(text, *, losses=0, errors=(), last_words="", maker=None):
    maker = maker or RunMaker()
    if losses:
        maker.log({"loss": falling(losses)})
    shown = () if errors else ((9, text),)
    maker.file().log_end(
        LogEnd(0, 9, text, torn=False, errors=errors, last_lines=shown, last_words=last_words)
    )
    return maker.plain()


class TestSetUp:
    @pytest.mark.parametrize("text", SET_UPS)
    def test_nothing_follows(self, text):
        assert stopping(text)["ended.stops_behind"] == "a set-up"

    def test_what_trains_nothing_is_no_such_log(self):
        assert "ended.stops_behind" not in stopping("Requirement already satisfied: idna in ./lib")

    def test_an_error_and_an_end_tell_more(self):
        assert "ended.stops_behind" not in stopping(SET_UPS[0], errors=((9, "rank 3: cannot open the file"),))
        assert "ended.stops_behind" not in stopping(SET_UPS[0], last_words="training finished")
        failed = RunMaker().event("cuda_oom", role="root_candidate", line=3)
        assert "ended.stops_behind" not in stopping(SET_UPS[0], maker=failed)

    def test_several_logs_are_not_heard(self):
        maker = RunMaker()
        maker.file("rank1.log").log_end(LogEnd(0, 9, SET_UPS[0], torn=False))
        maker.file("rank0.log").log_end(LogEnd(1, 9, SET_UPS[0], torn=False))
        assert "ended.stops_behind" not in maker.plain()

    @pytest.mark.parametrize(
        ("text", "several"), [(SET_UPS[0], True), (SET_UPS[1], None), ("local_rank: 0", None)]
    )
    def test_of_several_processes(self, text, several):
        assert stopping(text).get("ended.among_ranks") is several


class TestRows:
    def test_few_tell_no_course_and_five_do(self):
        assert stopping("step 3 loss 2.1", losses=3)["ended.stops_behind"] == "rows"
        assert "ended.stops_behind" not in stopping("step 5 loss 2.1", losses=5)


class TestEvaluation:
    def test_a_full_bar_and_no_result(self):
        facts = stopping(BAR, losses=4)
        assert facts["ended.state"] == "interrupted"
        assert facts["run.log_truncated"] is True
        assert facts["ended.excerpt"] is True

    def test_titled_bar(self):
        assert (
            stopping("Validating: 100%|####| 20/20 [00:09<00:00,  2.1it/s]", losses=4)["run.log_truncated"]
            is True
        )

    @pytest.mark.parametrize("text", [
        BAR.replace(" 90/90", " 45/90"),
        "Validating: 100%|####| 20/20 [00:09<00:00,  2.1it/s, loss=0.41]",
        "100%|####| 20/20 [00:09<00:00,  2.1it/s]",
    ])  # fmt: skip
    def test_one_under_way_one_with_its_score_and_one_of_anything(self, text):
        assert stopping(text, losses=4)["ended.state"] == "unknown"
