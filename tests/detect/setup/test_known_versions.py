"""Versions with a known defect: named with their source, only where the setting that matters is on."""

from __future__ import annotations

import pytest
from make_run import RunMaker

from analyzer.detect.setup.configuration import version
from analyzer.detect.setup.known_versions import TABLE
from analyzer.facts.catalog import catalog


def known(accumulation=None, **versions):
    maker = RunMaker("hf-trainer").config("versions", **versions)
    if accumulation:
        maker = maker.config("hf-trainer", gradient_accumulation_steps=accumulation)
    return {k.rpartition(".")[2]: v for k, v in maker.plain().items() if k.startswith("config.known_bad.")}


@pytest.mark.parametrize(
    ("given", "hit"), [("4.45.2", False), ("4.46.1", True), ("4.47.1", True), ("4.48.0", False)]
)
def test_the_versions_between_first_and_last_have_the_defect(given, hit):
    assert bool(known(8, transformers=given)["accumulation"]) is hit


def test_the_words_name_version_and_source():
    words = known(torch="2.5.0+cu124")["attention"]

    assert words.startswith("torch 2.5.0+cu124: ")
    assert "https://github.com/" in words


def test_without_the_setting_that_matters_or_without_a_version_nothing_is_claimed():
    assert known(1, transformers="4.46.1")["accumulation"] == ""
    assert known(transformers="4.46.1")["accumulation"] == ""
    assert "accumulation" not in known(8, torch="2.6.0")


def test_each_row_is_in_order_and_its_fact_is_declared():
    for row in TABLE:
        assert version(row.first) <= version(row.last)
        assert f"config.known_bad.{row.topic}" in catalog()
        assert row.source.startswith("https://")
