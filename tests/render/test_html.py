"""The report of one run as a page: whole, small, inert; read in a real browser where there is one."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from analyzer.api import study
from analyzer.cli.output import Format, chosen_format
from analyzer.model.diagnosis import LIKENESS
from analyzer.render.html import render_html
from tests.public_files import PUBLIC
from tests.shipped_samples import SAMPLES, studied

ROOT = Path(__file__).parent.parent.parent
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
VOID = {"meta", "link", "br", "path", "rect", "wbr"}
EVIL = "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\"> & \u2028"


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links, self.outside = [], [], [], []

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if tag not in VOID:
            self.open.append(tag)
        if "id" in found:
            self.ids.append(found["id"])
        if tag == "a":
            self.links.append(found.get("href", ""))
        self.outside += [
            v for k, v in attributes if k in {"src", "href"} and not v.startswith(("#", "data:"))
        ]

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag


def read(page):
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    return reader


def page_of(source):
    found = study(source)
    return render_html(found.diagnosis, found.run)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_a_page_is_well_formed_small_and_whole(sample):
    found = studied(sample)
    page = render_html(found.diagnosis, found.run)
    reader = read(page)

    assert len(page.encode()) < 2_000_000
    assert reader.outside == []
    assert len(reader.ids) == len(set(reader.ids))
    assert {link.removeprefix("#") for link in reader.links} <= set(reader.ids)


def test_a_rank_for_which_the_others_wait_is_marked():
    page = page_of(ROOT / "rules/distributed/rank-host-stall/cases/positive-gloo-recorder/run")

    assert re.findall(r"<div class=first><b>(\d+)</b>", page) == ["5"]
    assert "the others wait for it, and it for nobody" in page
    assert "<td>flight recorder</td>" in page


def test_the_losses_of_two_players_and_an_entropy_have_charts(tmp_path):
    (tmp_path / "gan.csv").write_text(
        "epoch,loss_d,loss_g\n" + "".join(f"{i},{1 / i},{1 + i / 10}\n" for i in range(1, 60)),
        encoding="utf-8",
    )
    (tmp_path / "rl.jsonl").write_text(
        "".join(
            json.dumps({"step": i, "reward_mean": i / 9, "entropy": 2 / (1 + i)}) + "\n" for i in range(60)
        ),
        encoding="utf-8",
    )

    assert "Losses of the players" in page_of(tmp_path / "gan.csv")
    assert "Entropy of the policy" in page_of(tmp_path / "rl.jsonl")


def test_records_of_a_binary_file_are_named_in_one_line(tmp_path):
    page = page_of(ROOT / "samples/failed/yi-6b-base-loss-scale-floor-with-replay")

    assert "(a record that is no text)" not in page
    assert re.search(r'No text, a binary file; cited are records <b id="line-\d+-336">336</b>', page)


def test_the_page_holds_what_the_issue_asks_for():
    page = page_of(ROOT / "samples/failed/tinyllama-fp16-unpacked-grad-nan")

    for part in (
        "93%", "very likely", "-padding_side: left", "+padding_side: right", 'class="copy"', "<b>Restart:</b>", 'id="chart-loss"',
        'id="chart-grad_norm"', 'id="chart-loss_scale"', 'id="chart-learning_rate"', "onset 1", "not finite (NaN, inf)",
        "cited as evidence", 'id="ledger"', 'id="rivals"', 'id="checks"', 'id="excerpts"', 'id="read"', "gradient norm: NaN",
        "prefers-color-scheme:dark", "@media print",
    ):  # fmt: skip
        assert part in page


def test_of_many_ranks_the_page_says_which_did_what_when():
    page = page_of(ROOT / "samples/failed/ddp-8-ranks-bad-record")
    lanes = re.search(
        r'<div class="lanes".*?</div></div></section>|<div class="lanes".*?<details>', page, re.DOTALL
    )[0]

    assert lanes.count('<span class="lane">') == 8
    assert re.search(
        r'class=first><b[^>]*>5 first</b><span class="lane"><a class="m cause" href="#line-\d+-67"', lanes
    )
    assert lanes.count('class="m waited"') == 2
    assert "a connection to a peer was lost" in page


def test_ranks_whose_lines_have_no_clock_stand_in_the_order_of_their_log(tmp_path):
    (tmp_path / "train.log").write_text(
        "".join(f"step {i} loss: {3 - i / 10:.2f}\n" for i in range(1, 9))
        + "".join(
            f'[rank{rank}]: Traceback (most recent call last):\n[rank{rank}]:   File "/d/train.py", line 9, in step\n'
            f"[rank{rank}]: KeyError: 'caption'\n"
            for rank in (3, 1)
        )
    )
    page = page_of(tmp_path)

    assert "Ranks by order in the log" in page
    assert page.index("<b>1</b>") < page.index(">3 first</b>")


def test_a_baseline_is_drawn_within_the_charts_and_its_settings_stand_beside():
    found = study(
        ROOT / "samples/failed/qwen2-fp16-sft-loss-zero", baseline=ROOT / "samples/healthy/qwen2-bf16-sft"
    )
    page = render_html(found.diagnosis, found.run, found.baseline)

    read(page)
    assert "</i>baseline" in page
    assert re.search(
        r'id="baseline".*<code>fp16\.?<wbr>\.?enabled</code></td><td>False</td><td>True</td>', page, re.DOTALL
    )
    assert "apart: loss from step 2 on" in page


def test_one_rank_alone_makes_no_picture_of_ranks():
    assert 'id="ranks"' not in page_of(ROOT / "samples/failed/qwen2-fp16-sft-loss-zero")


def test_the_tensors_of_a_replay_stand_around_the_first_bad_one():
    page = page_of(ROOT / "samples/replay/planted/norm-of-huge")
    table = re.search(r'id="tensors".*?</section>', page, re.DOTALL)[0]
    marked = re.sub("<[^>]+>", "", re.search(r'<tr class="hit">.*?</tr>', table)[0])

    assert "aten.native_layer_norm.default" in marked
    assert "output[0]" in marked
    assert "48 NaN" in marked
    assert 10 <= table.count("<tr>") <= 16
    assert "step 6 of rank 0" in table


def test_where_no_tensor_is_bad_those_nearest_to_their_range_are_shown():
    found = study(ROOT / "samples/replay/planted/norm-of-huge")
    replay = found.run.replay
    page = render_html(found.diagnosis, replace(found.run, replay=replay.take(replay["nonfinite"] != 1)))

    assert "No recorded tensor is bad" in page
    assert page.index("2.15e+21") < page.index("7.57e+18")


def machine(folder, *, steps):
    (folder / "gpu.csv").write_text(
        "timestamp, index, utilization.gpu [%], temperature.gpu\n"
        + "".join(
            f"2026/11/21 10:00:{i:02d}.000, {gpu}, {90 - 10 * gpu} %, {60 + gpu}\n"
            for i in range(20)
            for gpu in range(4)
        )
    )
    if steps:
        (folder / "train.log").write_text(
            "".join(f"2026-11-21 10:00:{i:02d} step {10 * i} loss: {3 - i / 10:.3f}\n" for i in range(20))
        )
    return page_of(folder)


def test_samples_of_the_machine_stand_at_the_steps_that_ran_then(tmp_path):
    page = machine(tmp_path, steps=True)
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])

    assert "<h3>The machine</h3>" in page
    assert "GPU 0, highest of 4" in page
    assert "GPU 3, lowest" in page
    assert [chart["word"] for chart in data] == ["step"] * 3
    assert data[1]["lines"][0]["x"] == [10 * i for i in range(20)]


def test_without_clocks_in_the_training_the_machine_is_drawn_over_seconds(tmp_path):
    page = machine(tmp_path, steps=False)

    assert "by seconds since the first sample" in page
    assert 'id="chart-gpu_temperature"' in page


def test_training_stands_beside_validation_in_one_chart(tmp_path):
    (tmp_path / "history.csv").write_text(
        "step,loss,eval_loss\n"
        + "".join(f"{i},{4 / (i + 1):.4f},{4 / (i + 1) + 0.01 * i:.4f}\n" for i in range(60))
    )
    page = page_of(tmp_path)

    assert "</i>training" in page
    assert "</i>validation" in page
    assert page.count('class="s1"') == 1


def chart_of(folder, key, rows):
    (folder / "metrics.csv").write_text("step,loss,grad_norm\n" + "".join(rows))
    return re.search(rf'<figure id="chart-{key}".*?</figure>', page_of(folder), re.DOTALL)[0]


def test_the_axis_of_a_constant_curve_names_its_one_value(tmp_path):
    figure = chart_of(tmp_path, "grad_norm", (f"{i},{3 - i / 50},0.25\n" for i in range(100)))

    assert re.findall(r'class="tick ty" [^>]*>([^<]*)<', figure) == ["0.25"]


def test_a_curve_without_a_finite_value_has_no_made_up_axis(tmp_path):
    figure = chart_of(tmp_path, "grad_norm", (f"{i},{3 - i / 50},nan\n" for i in range(100)))

    assert "no finite value" in figure
    assert 'class="tick ty" ' not in figure


def test_a_finite_point_between_two_that_are_not_is_seen(tmp_path):
    norms = ["nan"] * 40 + ["0.7"] + ["nan"] * 59
    figure = chart_of(tmp_path, "grad_norm", (f"{i},{3 - i / 50},{norm}\n" for i, norm in enumerate(norms)))

    assert re.search(r'class="d0" d="M[\d.]+ [\d.]+h0"', figure)


def test_where_no_rule_speaks_the_page_gives_candidates_and_a_fix_with_its_condition():
    found = study(ROOT / "samples/failed/tinyllama-fp16-unpacked-grad-nan")
    first = found.diagnosis.findings[0]
    candidate = first._replace(evidence=(first.evidence[0]._replace(id=LIKENESS),), probability=0.4)
    page = render_html(replace(found.diagnosis, status="insufficient", findings=(candidate,)))

    assert "No rule finds a fault" in page
    assert f"Fix, if it is {candidate.cause.id}: " in page
    assert "Fix 1: " not in page


def test_a_sound_run_says_which_tests_it_passed():
    assert re.search(
        r"Tested and passed \(\d+\).*<li>it ends near its best",
        page_of(ROOT / "samples/healthy/qwen2-bf16-sft"),
    )


def test_text_of_a_run_stays_text():
    found = study(ROOT / "samples/failed/tinyllama-fp16-unpacked-grad-nan")
    finding = found.diagnosis.findings[0]
    line = finding.evidence[0]._replace(because=EVIL, values={"x": EVIL})
    fix = finding.fixes[0]._replace(title=EVIL, code=EVIL)
    evil = replace(
        found.diagnosis,
        root=EVIL,
        summary=EVIL,
        findings=(finding._replace(symptom=EVIL, evidence=(line, *finding.evidence), fixes=(fix,)),),
    )
    metrics = replace(found.run.metrics, raw_names=(EVIL,) * len(found.run.metrics.raw_names))
    sources = tuple(replace(source, path=EVIL + source.path) for source in found.run.sources)
    page = render_html(evil, replace(found.run, metrics=metrics, sources=sources))

    assert "<img" not in page
    assert page.count("<script") == 2
    read(page)
    json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])


def test_a_page_without_its_run_has_no_curves_and_is_whole():
    found = study(ROOT / "samples/failed/ddp-8-ranks-bad-record")

    assert 'class="plot"' not in render_html(found.diagnosis)
    read(render_html(found.diagnosis))


def test_a_long_run_makes_no_large_page(tmp_path):
    rows = "".join(f"{i},{2 + (i % 7) / 9},{1e-3 * (i % 5)},nan\n" for i in range(60_000))
    (tmp_path / "metrics.csv").write_text("step,loss,learning_rate,grad_norm\n" + rows)
    assert len(page_of(tmp_path).encode()) < 400_000


def test_the_suffix_html_means_a_page():
    assert chosen_format(None, Path("report.HTML")) is Format.html


PROBE = """addEventListener('load', () => {
  const plots = [...document.querySelectorAll('.plot')], out = {requests: performance.getEntriesByType('resource').length};
  const plot = plots[0];
  if (plot) {
    const box = plot.getBoundingClientRect(), at = part => ({clientX: box.left + part * box.width, clientY: box.top + 20, bubbles: true, pointerType: 'mouse'});
    plot.dispatchEvent(new PointerEvent('pointermove', at(0.5)));
    out.hover = plot.querySelector('.tip').textContent;
    const before = plot.querySelector('svg').getAttribute('viewBox');
    plot.dispatchEvent(new PointerEvent('pointerdown', at(0.25)));
    plot.dispatchEvent(new PointerEvent('pointermove', at(0.75)));
    dispatchEvent(new PointerEvent('pointerup', at(0.75)));
    out.zoomed = plots.every(p => p.querySelector('svg').getAttribute('viewBox') !== before);
    plot.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape', bubbles: true}));
    out.reset = plot.querySelector('svg').getAttribute('viewBox') === before;
    plot.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));
    out.keyboard = plot.querySelector('.tip').textContent;
  }
  out.copies = document.querySelectorAll('button.copy').length;
  const figures = [...(document.querySelector('.charts')?.children ?? [])], last = figures.at(-1);
  if (last) out.filled = last.parentElement.getBoundingClientRect().right - last.getBoundingClientRect().right < 2 || figures.length % 2 === 0;
  out.wide = document.documentElement.scrollWidth > innerWidth;
  const link = document.querySelector('a[href^="#line"]');
  if (link) { location.hash = link.hash; out.target = !!document.querySelector(':target'); }
  document.body.setAttribute('data-probe', JSON.stringify(out));
});"""


def browse(tmp_path, page, width=1200):
    path = tmp_path / "page.html"
    digest = base64.b64encode(hashlib.sha256(PROBE.encode()).digest()).decode()
    page = page.replace("script-src ", f"script-src 'sha256-{digest}' ", 1)  # else the page forbids the probe
    path.write_text(page.replace("</body>", f"<script>{PROBE}</script></body>"), encoding="utf-8")
    done = subprocess.run(
        [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--virtual-time-budget=3000",
         f"--user-data-dir={tmp_path / 'profile'}", f"--window-size={width},1600", "--dump-dom", path.as_uri()],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert "CONSOLE" not in done.stderr, done.stderr
    probe = re.search(r'data-probe="([^"]*)"', done.stdout)
    assert probe, done.stderr[-2000:]
    return json.loads(
        probe[1].replace("&quot;", '"').replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&")
    )


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
@pytest.mark.parametrize(
    "name", ["tinyllama-fp16-unpacked-grad-nan", "ddp-resume-optimizer-lost", "ddp-8-ranks-bad-record"]
)
def test_in_a_browser_the_page_can_be_read_zoomed_and_used_by_keyboard(tmp_path, name):
    seen = browse(tmp_path, page_of(ROOT / "samples/failed" / name))

    assert seen["requests"] == 0
    assert re.match(r"step \d+.*training: ", seen["hover"])
    assert re.match(r"step \d+.*training: ", seen["keyboard"])
    assert seen["zoomed"]
    assert seen["reset"]
    assert seen["copies"] >= 1
    assert seen["target"]
    assert seen["filled"], "the last row of charts ends where the others do"
    assert not seen["wide"]


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_on_a_phone_nothing_is_cut(tmp_path):
    assert not browse(tmp_path, page_of(ROOT / "samples/failed/qwen2-fp16-sft-loss-zero"), width=500)["wide"]


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_in_a_browser_injected_markup_does_nothing(tmp_path):
    found = study(ROOT / "samples/failed/tinyllama-fp16-unpacked-grad-nan")
    metrics = replace(found.run.metrics, raw_names=(EVIL,) * len(found.run.metrics.raw_names))
    page = render_html(replace(found.diagnosis, root=EVIL, summary=EVIL), replace(found.run, metrics=metrics))

    assert browse(tmp_path, page)["requests"] == 0


@pytest.mark.skipif(not PUBLIC.is_dir(), reason="the public files are not here")
def test_pages_of_public_runs_are_well_formed_and_small():
    from analyzer.errors import AnalyzerError

    tried = 0
    for source in sorted(PUBLIC.glob("*/*"))[::3]:
        try:
            page = page_of(source)
        except AnalyzerError:
            continue
        tried += 1
        assert len(page.encode()) < 2_000_000, source
        assert read(page).outside == []
    assert tried >= 10
