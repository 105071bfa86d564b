"""A run whose every text is markup: no page gets an element of it, no script of it runs, no request leaves the browser."""

import http.server
import json
import re
import shutil
import subprocess
import threading
from html.parser import HTMLParser

import pytest
from hostile_inputs import ROWS

from analyzer import api
from analyzer.render.html import render_html
from analyzer.triage.campaign import Campaign, run_campaign
from analyzer.triage.pages import render_fleet
from analyzer.triage.places import open_place
from analyzer.triage.plan import make_plan
from analyzer.triage.specs import Options
from analyzer.triage.store import Dataset

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ELEMENTS = re.compile(
    r"html|head|meta|link|title|style|body|header|main|section|footer|div|span|p|b|i|code|pre|small|br|h[1-3]|[uod]l|li|d[td]|"
    r"details|summary|table|thead|tbody|t[rhd]|caption|a|button|input|label|select|option|noscript|script|svg|path|rect|text|"
    r"g|line|figure|figcaption|del|ins|mark|wbr"
)


def payload(place):
    """Markup of every kind that asks a server and marks the page if a browser obeys it."""
    call = f"document.body.id='hit';fetch('{place}/fetched')"
    return (
        f'</script></title></style></textarea>--><script>{call}</script><img src={place}/img onerror="{call}">'
        f"<svg onload=\"{call}\"><iframe src={place}/frame></iframe><style>@import '{place}/css';</style>"
        f'<meta http-equiv=refresh content=\'0;url={place}/meta\'><a href="javascript:{call}" autofocus onfocus="{call}">x</a>'
        f'" onmouseover="{call}" style="background:url({place}/bg)" x=\''
    )


def hostile_run(folder, evil):
    """A failed run: payloads in messages, names of files, metrics, settings, hosts, exceptions and tracebacks."""
    folder.mkdir(parents=True)
    config = {"fp16": {"enabled": True, evil: evil}, evil: evil, "model_name_or_path": evil, "run_name": evil}
    (folder / "ds_config.json").write_text(json.dumps(config), encoding="utf-8")
    rows = "".join(
        json.dumps({"step": step, "loss": 3.0 if step < 9 else float("nan"), evil: 1.0, f"eval {evil}": 2.0})
        + "\n"
        for step in range(20)
    )
    (folder / "metrics.jsonl").write_text(rows, encoding="utf-8")
    trace = f'Traceback (most recent call last):\n  File "{evil}.py", line 7, in <module>\n    {evil}\nValueError: {evil}\n'
    text = (
        ROWS
        + f"[{evil}] step 1\nhost={evil}\ntorch.cuda.OutOfMemoryError: CUDA out of memory. {evil}\n"
        + trace
    )
    (folder / "train.log").write_text(text, encoding="utf-8")
    name = re.sub(r"[/\0]", "", evil)[:200]
    (folder / f"{name}.log").write_text(text, encoding="utf-8")
    return folder


def pages(folder, evil):
    """The report of the run and the page of a triage over it."""
    run = hostile_run(folder / "fleet" / "<b id=hit>&\"'", evil)
    found = api.study(run, offline=True)
    campaign = Campaign(open_place(str(folder / "out")), Options(), workers=0)
    result = run_campaign(campaign, make_plan([str(folder / "fleet")]), lambda *_: None)
    records = Dataset(open_place(str(folder / "out"))).records
    return {
        "report": render_html(found.diagnosis, found.run),
        "bare": api.report(found.diagnosis, "html"),
        "fleet": render_fleet(result.summary, records, "html"),
    }


class Strict(HTMLParser):
    """What stands in a page that only its author may put there."""

    def __init__(self, text):
        super().__init__()
        self.scripts, self.wrong = 0, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.scripts += tag == "script"
        if not ELEMENTS.fullmatch(tag):
            self.wrong.append(tag)
        for name, value in attributes:
            target = name in {"src", "href", "action", "formaction", "xlink:href"}
            if (
                name.startswith("on")
                or (target and not (value or "").startswith(("#", "data:,")))
                or value == "hit"
            ):
                self.wrong.append(f"{tag} {name}={value}")


def test_no_text_of_a_run_becomes_an_element(tmp_path):
    for name, page in pages(tmp_path, payload("http://127.0.0.1:9")).items():
        strict = Strict(page)

        assert strict.wrong == [], name
        assert strict.scripts == 2, name
        assert "'unsafe-inline'" not in re.search(r"script-src [^;]*", page)[0], name


class _Canary(http.server.BaseHTTPRequestHandler):
    """Writes down who asks."""

    asked: list = []  # noqa: RUF012  (one server in one test)

    def do_GET(self):
        self.asked.append(self.path)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        """Say nothing."""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_in_a_browser_no_script_of_a_run_runs_and_no_request_leaves(tmp_path):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Canary)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    place = f"http://127.0.0.1:{server.server_port}"
    shown = {}
    bait = f"<body><script>document.body.id='hit';fetch('{place}/bait')</script><img src={place}/bait.png>"
    for name, page in {**pages(tmp_path, payload(place)), "bait": bait}.items():
        path = tmp_path / f"{name}.html"
        path.write_text(page, encoding="utf-8")
        command = [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--virtual-time-budget=3000",
            f"--user-data-dir={tmp_path / 'profile'}",
        ]
        done = subprocess.run(
            [*command, "--dump-dom", path.as_uri()], capture_output=True, check=True, text=True, timeout=120
        )
        shown[name] = done.stdout
    server.shutdown()
    server.server_close()

    assert set(_Canary.asked) == {"/bait", "/bait.png"}  # what is asked is heard
    assert [name for name, dom in shown.items() if 'id="hit"' in dom] == ["bait"]
