"""Rule packs with names of their own: the example holds, and what is not declared under the prefix is refused."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import call

import analyzer
from analyzer.errors import RuleError
from analyzer.rules.causes import catalogue
from analyzer.rules.load import load_rules
from analyzer.vocabulary import packs
from analyzer.vocabulary.events import event_specs

ROOT = Path(__file__).parents[2]
PACK = ROOT / "samples" / "pack"
RUN = PACK / "tier-draining" / "cases" / "positive-log" / "run"


@pytest.fixture(autouse=True)
def _nothing_stays():
    yield
    packs.use(())


def test_the_example_passes_the_checks_also_from_inside():
    for place in (PACK, PACK / "tier-draining"):
        assert call("rules", "test", place).stdout == "6 passed, 0 failed\n"
        assert call("rules", "lint", place).stdout == "1 rule, 0 problems\n"


def test_a_pack_names_its_own_log_line_and_cause_and_leaves_nothing_behind():
    before = analyzer.diagnose(RUN)
    top = analyzer.diagnose(RUN, rules=[PACK]).findings[0]

    assert (top.cause.id, top.rule_id) == ("acme-tier-draining", "ACME001")
    assert top.probability > 0.6
    assert "tier fast" in top.symptom
    assert "acme-tier-draining" in catalogue()
    assert analyzer.diagnose(RUN).to_dict()["findings"] == before.to_dict()["findings"]
    assert "acme-tier-draining" not in catalogue()
    assert "acme_tier_draining" not in event_specs()


EVENT = "{says: x, role: symptom}"
CAUSE = "title: x, family: storage, symptom_kind: crash, restart_advice: no-action"


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("events.yaml", f"events:\n  slow: {EVENT}", "events.yaml:2:3: 'slow' must begin with 'acme_'"),
        ("gates.yaml", "gates:\n  slow: {says: x, when: run.completed, cases: []}", "must begin with 'acme_'"),
        ("causes.yaml", f"causes:\n  slow: {{{CAUSE}}}", "causes.yaml:2:3: 'slow' must begin with 'acme-'"),
        ("causes.yaml", f"causes:\n  acme-slow: {{{CAUSE}, kind: huge}}", "'huge' is not one of"),
        ("causes.yaml", f"causes:\n  acme-slow: {{{CAUSE}, parent: nobody}}", "no cause is called 'nobody'"),
        ("causes.yaml", "causes:\n  acme-slow: {title: x}", "lacks the key 'family'"),
        ("pack.yaml", "prefix: Not A Word", "a prefix is one lower-case word"),
        ("pack.yaml", "name: acme", "unknown key 'name'"),
        ("pack.yaml", "prefix: acme\nversion: 2", "pack.yaml:2:1: 'version' must be a str"),
    ],
)  # fmt: skip
def test_a_mistake_of_a_pack_is_told_with_its_place(tmp_path, name, text, says):
    rule = (PACK / "tier-draining" / "rule.yaml").read_text(encoding="utf-8")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "rule.yaml").write_text(rule, encoding="utf-8")
    for file in ("pack.yaml", "events.yaml", "causes.yaml", "gates.yaml"):
        (tmp_path / file).write_text((PACK / file).read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / name).write_text(text + "\n", encoding="utf-8")
    with pytest.raises(RuleError) as caught:
        load_rules([tmp_path])

    assert says in str(caught.value)


def test_a_pack_for_other_rules_is_refused_in_one_line_before_anything_of_it_is_read(tmp_path):
    (tmp_path / "pack.yaml").write_text("prefix: acme\nschema: 2\nlanguage: newer\n", encoding="utf-8")
    (tmp_path / "events.yaml").write_text("nothing that is known here\n", encoding="utf-8")
    (tmp_path / "rule.yaml").write_text("nor here\n", encoding="utf-8")
    done = call("diagnose", RUN, "--rules", tmp_path)

    assert done.returncode == 4
    assert done.stderr.count("\n") == 1
    assert "pack.yaml:2:1: this pack is written for rules of schema 2; analyzer " in done.stderr
    assert done.stdout == ""


def test_reports_name_the_packs_and_their_versions():
    found = analyzer.diagnose(RUN, rules=[PACK])

    assert found.rule_packs == ("acme 1.0.0",)
    for form in ("html", "markdown"):
        assert f"rules {found.rules_digest}, pack acme 1.0.0." in analyzer.report(found, form)
    assert "pack acme 1.0.0\n" in call("diagnose", RUN, "--rules", PACK, "--all").stdout
    assert analyzer.diagnose(RUN).rule_packs == ()


def test_an_installed_pack_that_is_broken_costs_itself_and_is_named(tmp_path):
    site = tmp_path / "site"
    shutil.copytree(PACK, site / "acme_rules")
    (site / "newer_rules").mkdir()
    (site / "newer_rules" / "pack.yaml").write_text("prefix: newer\nschema: 2\n", encoding="utf-8")
    (site / "torn_rules").mkdir()
    (site / "torn_rules" / "pack.yaml").write_text("prefix: torn\n", encoding="utf-8")
    (site / "torn_rules" / "events.yaml").write_text("events: [\n", encoding="utf-8")
    about = site / "some-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: some\nVersion: 1\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(
        "[analyzer.rule_packs]\nacme = acme_rules\ngone = gone_rules.below\nnewer = newer_rules\ntorn = torn_rules\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "analyzer", "diagnose", str(RUN), "-f", "json"],
        env={**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{ROOT}", "ANALYZER_CACHE_DIR": str(tmp_path)},
        check=True, capture_output=True, cwd=tmp_path,
    )  # fmt: skip
    found = json.loads(done.stdout)

    assert found["findings"][0]["cause"]["id"] == "acme-tier-draining"
    assert found["rule_packs"] == ["acme 1.0.0"]
    gone, newer, torn = (gap["reason"] for gap in found["gaps"] if gap["reason"].startswith("rule pack "))
    assert gone.startswith("rule pack gone was left out: ")
    assert newer.startswith("rule pack newer was left out: ")
    assert "schema 2" in newer
    assert torn.startswith("rule pack torn was left out: ")


def test_names_without_a_prefix_are_refused(tmp_path):
    (tmp_path / "rule.yaml").write_text(
        (PACK / "tier-draining" / "rule.yaml").read_text(encoding="utf-8"), encoding="utf-8"
    )
    (tmp_path / "events.yaml").write_text(f"events:\n  acme_slow: {EVENT}\n", encoding="utf-8")

    with pytest.raises(RuleError, match=r"needs pack\.yaml with their prefix"):
        load_rules([tmp_path])


def test_examples_that_do_not_hold_and_events_that_nothing_uses_are_told(tmp_path):
    shutil.copytree(PACK, tmp_path, dirs_exist_ok=True)
    events = tmp_path / "events.yaml"
    text = events.read_text(encoding="utf-8").replace("tier fast is draining", "tier fast drains")
    events.write_text(text.replace("patterns:", f"  acme_idle: {EVENT}\npatterns:"), encoding="utf-8")

    assert "acme_tier_draining does not recognise" in call("rules", "test", tmp_path).stdout
    assert "R017 no rule looks at the event 'acme_idle'" in call("rules", "lint", tmp_path).stdout
