"""The skill and the wiring that agents copy: in the common format, and every command in them is one."""

import json
import re
from pathlib import Path

import yaml
from typer.main import get_command

from analyzer.cli.app import app

AGENTS = Path(__file__).parent.parent.parent / "samples" / "agents"
SKILL = AGENTS / "skills" / "diagnose-run" / "SKILL.md"


def test_the_skill_has_the_head_that_the_format_asks_for():
    head = yaml.safe_load(SKILL.read_text(encoding="utf-8").split("---\n")[1])

    assert head["name"] == SKILL.parent.name
    assert re.fullmatch(r"[a-z0-9-]{1,64}", head["name"])
    assert 0 < len(head["description"]) <= 1024


def test_every_command_of_the_skill_and_of_the_wiring_exists():
    wired = json.loads((AGENTS / "mcp.json").read_text(encoding="utf-8"))["mcpServers"]["analyzer"]
    named = [*re.findall(r"`analyzer ([a-z]+)", SKILL.read_text(encoding="utf-8")), wired["args"][0]]

    assert wired["command"] == "analyzer"
    assert set(named) <= set(get_command(app).commands)
    assert {"diagnose", "explain", "compare", "triage", "mcp"} <= set(named)
