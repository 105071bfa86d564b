"""The pages of a fleet: what a log holds is text and nothing else; the HTML page in a real browser, if one is there."""

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest
from fleets import OOM, ROWS, TRACEBACK, write_fleet, write_run

from analyzer.triage.campaign import Campaign, run_campaign
from analyzer.triage.pages import html, render_fleet
from analyzer.triage.places import open_place
from analyzer.triage.plan import make_plan
from analyzer.triage.specs import Options
from analyzer.triage.store import Dataset

EVIL = (
    "</script><img src=x onerror=\"document.title='owned'\"><svg onload=alert(1)> @SCRIPT@ \u2028 --> ${7*7}"
)
BROWSER = os.environ.get("ANALYZER_TEST_BROWSER") or next(
    filter(
        None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome-headless-shell"))
    ),
    None,
)
in_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium here; name one in ANALYZER_TEST_BROWSER")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """A triaged fleet with a hostile log and hostile names: summary, and records on demand."""
    folder = tmp_path_factory.mktemp("pages")
    root = write_fleet(folder / "fleet", 9)
    write_run(root / "users" / "eve" / "<b onmouseover=x>&", ROWS + TRACEBACK + f"ValueError: {EVIL}\n")
    write_run(root / "users" / "eve" / "=cmd|calc", ROWS + TRACEBACK + OOM)
    stamped = "".join(
        f"2026-10-01 0{hour}:00:00,000 INFO main: loss: {3 - hour / 10} step: {hour}\n"
        for hour in range(1, 9)
    )
    launched = "[2026-10-01 01:00:00,000] [INFO] [launch.py:162:main] dist_world_size=8\n"
    ended = (
        "2026-10-01 08:30:00,000 "
        + OOM
        + "slurmstepd: error: *** JOB 17 ON node-17 CANCELLED AT 2026-10-01T08:31:00 ***\n"
    )
    write_run(root / "users" / "eve" / "timed", launched + stamped + ended)
    write_run(root / "users" / "eve" / "\x1b[31mred\x07", ROWS + TRACEBACK + OOM)
    campaign = Campaign(open_place(str(folder / "out")), Options(), workers=0)
    result = run_campaign(campaign, make_plan([str(root)]), lambda *_: None)
    return result.summary, Dataset(open_place(str(folder / "out"))).records


@pytest.fixture(scope="module")
def page(fleet):
    return render_fleet(*fleet, "html")


class Outline(HTMLParser):
    """Elements of a page, and the text of its scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self.links = [], [], []
        self._inside = False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name in {"src", "href"}]
        self._inside = tag in {"script", "style"}

    def handle_endtag(self, tag):
        self._inside = False

    def handle_data(self, data):
        if self._inside:
            self.scripts.append(data)


def test_the_page_is_one_file_that_asks_the_network_for_nothing(page):
    outline = Outline(page)

    assert outline.links == []
    assert "default-src 'none'" in page
    assert not re.search(r"\bfetch\(|XMLHttpRequest|WebSocket|import\(", page)
    assert "innerHTML" not in html._resource("page.js")


def test_text_of_a_log_cannot_end_the_data_or_add_an_element(page):
    outline = Outline(page)
    data = json.loads(outline.scripts[1])

    assert outline.tags.count("script") == 2
    assert not {"img", "svg", "b"} & set(outline.tags)
    assert any(EVIL[:40] in json.dumps(run, ensure_ascii=False).replace('\\"', '"') for run in data["runs"])
    assert any(run["location"].endswith("<b onmouseover=x>&") for run in data["runs"])


def test_the_content_policy_allows_the_scripts_of_the_page_and_no_other(page):
    style, _, script = Outline(page).scripts
    for text in (style, script):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in page


def test_the_page_holds_the_worst_runs_where_there_are_too_many(fleet, monkeypatch):
    monkeypatch.setattr(html, "MAX_RUNS", 4)
    data = json.loads(Outline(render_fleet(*fleet, "html")).scripts[1])

    assert data["total"] == 13
    assert [run["status"] for run in data["runs"]] == ["failed"] * 4


def test_markdown_and_terminal_show_text_as_text(fleet):
    markdown = render_fleet(*fleet, "markdown")
    screen = render_fleet(*fleet, "terminal")

    assert "<img" not in markdown.replace("\\<img", "")
    assert "\x1b" not in screen
    assert max(map(len, screen.splitlines())) <= 100


def test_csv_is_not_run_as_a_formula(fleet):
    text = render_fleet(*fleet, "csv")

    assert not re.search(r'(?:^|,)"?[=@]', text, re.MULTILINE)


def dom(tmp_path, text):
    """The document after its scripts have run."""
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom",
        (tmp_path / "page.html").as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, check=True, text=True, timeout=120)
    return done.stdout


@in_browser
def test_the_page_builds_its_table_and_charts_under_its_own_policy(tmp_path, page):
    shown = dom(tmp_path, page)

    assert shown.count('class="run"') == 13
    for chart in (
        "Causes by runs",
        "GPU-hours of failed runs",
        "Causes over time (UTC, by day)",
        "Hosts \u00d7 causes",
    ):
        assert f'aria-label="{chart}"' in shown
    assert "13 of 13 runs" in shown
    assert "<title>Triage</title>" in shown
    assert "<img" not in shown
    assert "&lt;b onmouseover=x&gt;&amp;" in shown


STEPS = """
<script>
const said = [];
const rows = () => [...document.querySelectorAll("tr.run")].map((row) => row.children[0].textContent.split("/").pop());
document.getElementById("sort-location").click();
said.push(rows()[0]);
document.getElementById("sort-location").click();
said.push(rows()[0]);
const search = document.getElementById("search");
search.value = "alice outofmemory";
search.dispatchEvent(new Event("input"));
said.push(document.getElementById("count").textContent);
document.querySelector("tr.run").click();
said.push(String(document.querySelectorAll("tr.detail pre").length > 1));
said.push(String(document.querySelector("tr.detail").textContent.includes("OutOfMemoryError")));
document.getElementById("clear").click();
document.getElementById("status").value = "healthy";
document.getElementById("status").dispatchEvent(new Event("change"));
said.push(document.getElementById("count").textContent);
document.title = said.join(" | ");
</script></body>"""


@in_browser
def test_the_table_sorts_filters_and_opens_the_evidence(tmp_path, page):
    page = re.sub(r"script-src '[^']+'", "script-src 'unsafe-inline'", page).replace("</body>", STEPS)
    title = re.search(r"<title>(.*)</title>", dom(tmp_path, page)).group(1)
    first, last, *rest = title.split(" | ")

    assert (first, last) == ("run000", "timed")
    assert rest == ["2 of 13 runs", "true", "true", "3 of 13 runs"]
