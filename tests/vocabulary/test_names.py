"""Frameworks and settings: one name each, families in one place, and refused where they are not declared."""

import jsonschema
import pytest

from analyzer.errors import RuleSyntaxError
from analyzer.vocabulary import config, frameworks
from analyzer.vocabulary.config import (
    canonical_key,
    config_schema,
    is_setting,
    nearest_setting,
    read_settings,
)
from analyzer.vocabulary.frameworks import built_on, family, framework_of, framework_schema, read_frameworks
from analyzer.vocabulary.known_names import read_names
from analyzer.vocabulary.marked import load_marked


@pytest.mark.parametrize(("module", "schema"), [(frameworks, framework_schema), (config, config_schema)])
def test_each_file_is_as_its_schema_says(module, schema):
    data = load_marked(module._FILE.read_text(encoding="utf-8"), module._FILE.name).data

    jsonschema.Draft202012Validator(schema()).validate(data)


def test_other_names_stand_for_one_framework():
    assert framework_of("lightning") == "pytorch-lightning"
    assert framework_of("transformers") == "hf-trainer"
    assert framework_of("my-own-loop") == "my-own-loop"


def test_a_framework_is_no_member_of_families_that_exclude_each_other():
    hf = built_on("hf-trainer")
    assert hf >= {"hf-trainer", "trl", "unsloth", "llamafactory", "axolotl"}
    assert not hf & family("own-loop")
    assert not family("own-words") & (hf | family("own-loop"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("frameworks:\n  one: {families: [huge]}", "x:2:3: 'huge' is not one of own-loop"),
        ("frameworks:\n  one: {aliases: [uno]}\n  two: {aliases: [uno]}", "x:3:3: 'uno' stands for two"),
        ("frameworks:\n  one: {built_on: two}", "x:2:9: no framework is called 'two'"),
        ("frameworks:\n  one: {habits: [rhymes]}", "x:2:3: 'rhymes' is not one of adaptive-optimizer"),
        ("frameworks:\n  one: {family: [hf]}", "x:2:9: unknown key 'family'"),
    ],
)
def test_a_mistake_about_frameworks_is_told_with_its_place(text, says):
    with pytest.raises(RuleSyntaxError) as caught:
        read_frameworks(load_marked(text, "x"))

    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("settings:\n  a.b:\n    hf-trainr: [x]", "x:3:5: no framework is called 'hf-trainr'"),
        ("settings:\n  a.b: {any: [x]}\n  a.c: {any: [x]}", "x:3:9: 'x' stands for two settings"),
        ("settings: {}\nothers:\n  nobody: [x]", "x:3:3: no framework is called 'nobody'"),
    ],
)
def test_a_mistake_about_settings_is_told_with_its_place(text, says):
    with pytest.raises(RuleSyntaxError) as caught:
        read_settings(load_marked(text, "x"))

    assert says in str(caught.value)


def test_a_setting_is_known_by_its_spellings_and_the_nearest_is_named():
    assert canonical_key("axolotl", "training.learning_rate") == "train.learning_rate"
    assert is_setting("megatron", "--overlap-grad-reduce")
    assert not is_setting("hf-trainer", "lerning_rate")
    assert nearest_setting("hf-trainer", "lerning_rate") == "learning_rate"


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("{is: fast, named: x}", "'is' must be a number"),
        ("{is: 8.0, named: '(x'}", "x:4:13: not a regular expression"),
        ("{is: 8.0, name: x}", "did you mean 'named'"),
    ],
)
def test_a_mistake_about_a_known_name_is_told_with_its_place(row, says):
    text = f"libraries: []\nplatforms: []\ncapabilities:\n- {row}\nbackends: []\nbf16_models: []"

    with pytest.raises(RuleSyntaxError, match=says):
        read_names(load_marked(text, "x"))
