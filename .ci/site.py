"""Write the documentation site of this repository and build it: python .ci/site.py OUT (extra: docs).

Pages: the ten-minute start (README), guides (the documents of the repository), one page for each cause of the catalogue,
and accuracy with its commands. Nothing is fetched while it is built or read.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from analyzer.rules.causes import catalogue
from analyzer.rules.docs import rule_page
from analyzer.rules.load import load_rules

ROOT = Path(__file__).parent.parent
GUIDES = {
    "index.md": "README.md",
    "guides/command-line.md": "analyzer/cli/README.md",
    "guides/sources.md": "analyzer/ingest/README.md",
    "guides/curves.md": "analyzer/classifier/README.md",
    "guides/adding.md": "CONTRIBUTING.md",
    "guides/rules.md": "rules/README.md",
    "guides/triage.md": "analyzer/triage/README.md",
    "guides/replay.md": "analyzer/replay/README.md",
    "guides/agents.md": "samples/agents/README.md",
    "guides/hooks.md": "samples/hooks/README.md",
    "guides/samples.md": "samples/README.md",
    "guides/fault-lab.md": "samples/lab/README.md",
    "guides/accuracy.md": "samples/lab/report/REPORT.md",
    "guides/design.md": "analyzer/ARCHITECTURE.md",
    "guides/security.md": "SECURITY.md",
    "changes.md": "CHANGELOG.md",
}
CONFIGURATION = """\
site_name: analyzer
docs_dir: docs
site_dir: site
use_directory_urls: false
theme:
  name: material
  font: false
  palette:
    - {media: "(prefers-color-scheme: light)", scheme: default}
    - {media: "(prefers-color-scheme: dark)", scheme: slate}
plugins: [search]
markdown_extensions: [tables, fenced_code]
nav:
"""


def write(out: Path) -> int:
    """Write the sources of the site; returns how many pages they are."""
    pages = {name: _relinked(name, source) for name, source in GUIDES.items()}
    rules = load_rules()
    families: dict[str, list[str]] = defaultdict(list)
    for entry in sorted(catalogue().values(), key=lambda entry: entry.id):
        families[entry.family].append(entry.id)
        alike = ", ".join(f"[{other}]({other}.md)" for other in entry.look_alikes) or "nothing else"
        named = [rule for rule in rules.rules if rule.entry.id == entry.id]
        parts = [
            f"# {entry.title}",
            f"`{entry.id}`, family {entry.family}. Looks like {alike}.",
            *(re.sub("^#", "##", rule_page(rule, []), flags=re.MULTILINE) for rule in named),
        ]
        pages[f"causes/{entry.id}.md"] = "\n\n".join(parts)
    rows = [f"- [{entry.title}]({entry.id}.md) `{entry.id}`" for entry in catalogue().values()]
    pages["causes/index.md"] = "# Every root cause\n\n" + "\n".join(rows) + "\n"
    for name, text in pages.items():
        path = out / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    nav = ["  - Start: index.md", "  - Guides:"]
    nav += [f"    - {name}" for name in GUIDES if name.startswith("guides/")]
    nav += ["  - Causes:", "    - causes/index.md"]
    for family, ids in sorted(families.items()):
        nav += [f"    - {family}:", *(f"      - {cause}: causes/{cause}.md" for cause in ids)]
    nav.append("  - Changes: changes.md")
    (out / "mkdocs.yml").write_text(CONFIGURATION + "\n".join(nav) + "\n", encoding="utf-8")
    return len(pages)


def _relinked(name: str, source: str) -> str:
    """A document with its links to other documents of the site; links to other files of the repository become text."""
    here = (ROOT / source).parent
    known = {(ROOT / path).resolve(): page for page, path in GUIDES.items()}
    up = "../" * name.count("/")

    def link(match: re.Match[str]) -> str:
        words, target = match[1], match[2]
        if target.startswith(("http", "#", "mailto:")):
            return match[0]
        page = known.get((here / target.partition("#")[0]).resolve())
        return f"[{words}]({up}{page})" if page else f"{words} (`{target}`)"

    text = (ROOT / source).read_text(encoding="utf-8")
    return re.sub(r"(?<!!)\[([^\]\n]{1,200})\]\(([^)\s]{1,200})\)", link, text)


if __name__ == "__main__":
    place = Path(sys.argv[1])
    print(f"{write(place)} pages in {place}")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", str(place / "mkdocs.yml")],
        check=True,
    )
