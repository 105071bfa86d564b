"""Files of regular expressions are checked and put together."""

import pytest

from analyzer.errors import RuleSyntaxError
from analyzer.vocabulary.expressions import read_expressions
from analyzer.vocabulary.marked import load_marked


def read(text):
    return read_expressions(load_marked(text, "words.yaml"))


def test_alternatives_are_joined_and_names_stand_for_what_is_above():
    assert read("thing: [files?, folders?]\nlost:\n  - (?i)\n  - (?&thing) gone\n  - no (?&thing)\n") == {
        "thing": "files?|folders?",
        "lost": "(?i)(?:files?|folders?) gone|no (?:files?|folders?)",
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("lost: [(?&thing) gone]", "no expression above is called 'thing'"),
        ("lost: ['(gone']", "not a regular expression"),
        ("lost: gone", "'lost' must be a list"),
        ("[lost]", "a mapping of names"),
    ],
)
def test_what_is_no_expression_is_told_with_its_place(text, says):
    with pytest.raises(RuleSyntaxError, match=says) as error:
        read(text)
    assert "words.yaml:1" in str(error.value)
