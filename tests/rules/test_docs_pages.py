"""Pages made of the rules: one per rule, an index that links to each, and the coverage."""

import re

from typer.testing import CliRunner

from analyzer.cli.app import app
from analyzer.rules.load import load_rules


def test_docs_writes_a_page_per_rule_and_an_index_that_links_to_each(tmp_path):
    result = CliRunner().invoke(app, ["rules", "docs", str(tmp_path / "pages")])

    rules = load_rules().rules
    assert result.exit_code == 0
    assert result.output.startswith(f"{len(rules) + 2} pages in ")
    index = (tmp_path / "pages" / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]+\.md)\)", index)
    assert all((tmp_path / "pages" / link).is_file() for link in links)
    assert len(links) == len(rules) + 1
    page = (tmp_path / "pages" / "precision" / "untrained-special-token-embedding.md").read_text("utf-8")
    assert page.startswith("# PREC005: ")
    assert "## How it is told apart" in page
