"""What stands behind how the run ended."""

import pytest

from analyzer import pipeline
from analyzer.model.diagnosis import WORDS
from tests.shipped_samples import SAMPLES, studied


@pytest.mark.parametrize(("words", "cut", "behind"), [(0.4, 0.6, 2), (0.4, 0.4, 2), (0.45, 0.3, 0)])
def test_what_words_alone_suggest_stands_behind_a_log_that_is_likelier_cut_off(words, cut, behind):
    first = studied(SAMPLES[0]).diagnosis.findings[0]
    line = first.evidence[0]._replace(id=WORDS, values={})
    by_words = first._replace(probability=words, evidence=(line,))
    ends = first._replace(
        probability=cut, cause=first.cause._replace(id="log-truncated", kind="lifecycle"), severity="advisory"
    )

    assert pipeline._says_less(by_words, (ends, by_words), "insufficient") == behind
