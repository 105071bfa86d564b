"""``analyzer serve``: submitted, fetched, counted, bounded, and closed to everybody else."""

import json
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from analyzer.desk import Desk
from analyzer.service.server import Full, Jobs, Service

SAMPLE = Path(__file__).parent.parent.parent / "samples" / "failed" / "qwen2-fp16-sft-loss-zero"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A running service that may look at one sample and at its uploads."""
    uploads = tmp_path_factory.mktemp("uploads")
    with Service(("127.0.0.1", 0), Jobs(Desk([SAMPLE, uploads]), 4), uploads) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


def ask(service, path, body=None, **headers):
    """Status and text of an answer."""
    address = f"http://127.0.0.1:{service.server_address[1]}{path}"
    request = urllib.request.Request(address, body, {"Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


def finished(service, text):
    """The state of a submission once it is done."""
    address = json.loads(text)["url"]
    for _ in range(600):
        state = json.loads(ask(service, address)[1])
        if state["state"] in {"done", "failed"}:
            return state
        time.sleep(0.05)
    raise AssertionError("it is never done")


def test_a_path_is_submitted_and_its_answer_fetched_in_every_format(service):
    status, text = ask(service, "/diagnoses", json.dumps({"path": str(SAMPLE)}).encode())
    state = finished(service, text)

    assert (status, state["state"]) == (202, "done")
    for name, start in (
        ("json", "{"),
        ("html", "<!doctype html>"),
        ("brief", "training run"),
        ("markdown", "## failed"),
    ):
        code, page = ask(service, f"{state['url']}?format={name}")
        assert code == 200
        assert page.lower().startswith(start.lower())
    assert ask(service, f"{state['url']}?format=exe")[0] == 400


def test_an_upload_is_diagnosed_and_deleted(service):
    body = (SAMPLE / "train.log").read_bytes()
    _, text = ask(
        service, "/diagnoses?name=../../evil.log", body, **{"Content-Type": "application/octet-stream"}
    )
    state = finished(service, text)

    assert state["state"] == "done"
    for _ in range(100):
        if not list(service.uploads.iterdir()):
            break
        time.sleep(0.02)
    assert list(service.uploads.iterdir()) == []


def test_health_and_counts_are_told(service):
    finished(service, ask(service, "/diagnoses", json.dumps({"path": str(SAMPLE)}).encode())[1])

    assert json.loads(ask(service, "/health")[1])["status"] == "ok"
    assert 'analyzer_diagnoses_total{status="failed"}' in ask(service, "/metrics")[1]


@pytest.mark.parametrize(
    ("path", "body", "headers", "status"),
    [
        ("/diagnoses", b'{"path": "/etc/passwd"}', {}, 400),
        ("/diagnoses", b"no json", {}, 400),
        ("/diagnoses", b'{"path": 3}', {}, 400),
        ("/elsewhere", b"{}", {}, 404),
        ("/diagnoses/999", None, {}, 404),
        ("/health", None, {"Host": "evil.example"}, 403),
        ("/health", None, {"Origin": "http://evil.example"}, 403),
        ("/diagnoses", b"x", {"Content-Length": str(2**40)}, 413),
    ],
)
def test_what_is_wrong_or_foreign_is_refused(service, path, body, headers, status):
    assert ask(service, path, body, **headers)[0] == status


def test_another_machine_needs_the_token(tmp_path):
    with Service(("127.0.0.1", 0), Jobs(Desk([tmp_path]), 1), tmp_path, "s3cret") as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        assert ask(running, "/health")[0] == 401
        assert ask(running, "/health", Authorization="Bearer wrong")[0] == 401
        assert ask(running, "/health", Authorization="Bearer s3cret")[0] == 200
        running.shutdown()


def test_a_full_queue_refuses(tmp_path, monkeypatch):
    going = threading.Event()
    monkeypatch.setattr(Desk, "study", lambda *_: going.wait())
    jobs = Jobs(Desk([tmp_path]), 1)
    jobs.submit(str(tmp_path))
    while jobs.waiting:  # until the first is at work
        time.sleep(0.01)
    jobs.submit(str(tmp_path))
    with pytest.raises(Full):
        jobs.submit(str(tmp_path))
    going.set()

    assert jobs.refused == 1
