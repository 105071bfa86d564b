"""What the first lines of the screen say of how a run ended."""

from dataclasses import replace

from analyzer.model.diagnosis import Ended, Place
from analyzer.render.sentences import ended_note
from tests.shipped_samples import SAMPLES, studied

FAILED = next(path for path in SAMPLES if path.name == "qwen2-fp16-sft-loss-zero")


def test_an_end_is_not_told_twice_where_the_leading_cause_cites_its_line():
    found = studied(FAILED).diagnosis
    cited = next(ref for line in found.findings[0].evidence for ref in line.refs)
    of_cause, of_another = (
        replace(found, ended=Ended("interrupted", "somebody ended it", (place,)))
        for place in (cited, Place("another.log", 7, "Killed"))
    )

    assert ended_note(of_cause) == ""
    assert ended_note(of_another) == "interrupted: somebody ended it [another.log:7]"
