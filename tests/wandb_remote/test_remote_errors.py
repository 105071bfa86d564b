"""Whatever keeps a run from being fetched is told in one line that says what to do; no key is ever shown."""

import json
import os
import pickle
import pty
import subprocess
import sys
from contextlib import suppress

import pytest
from command_line import call
from conftest import KEY
from wandb_server import Fault, StoredRun

from analyzer.errors import FetchError
from analyzer.fetch.address import default_server, parse_address
from analyzer.fetch.limits import Limits
from analyzer.fetch.runs import fetch_run, list_runs
from analyzer.fetch.session import Session, key_source
from analyzer.fetch.worker_errors import explain

ROWS = [{"_step": step, "_timestamp": 1.7e9 + step, "loss": 1.0} for step in range(30)]


def failing(address, session=None, **options):
    with pytest.raises(FetchError) as caught:
        fetch_run(parse_address(address), session=session, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert KEY not in message
    return caught.value.kind, message


@pytest.fixture
def server(backend):
    return default_server().name


def command(*arguments, **changes):
    """Run the command line as a user does, without a terminal."""
    return call(*arguments, **changes)


@pytest.fixture
def patch(backend, monkeypatch, environment):
    monkeypatch.setenv("WANDB_BASE_URL", backend.url)
    return monkeypatch


@pytest.mark.parametrize(
    ("operation", "fault", "kind", "says"),
    [
        ("Run", Fault(403, "permission denied"), "private", "private: your key has no access; ask its owner"),
        ("Run", Fault(400, 'Cannot query field "historyKeys" on type "Run".'), "old_server", "too old for the installed wandb client; update the server"),
        ("Run", Fault(429, "rate limit exceeded", {"Retry-After": "1"}), "rate_limit", "(HTTP 429) and went on doing so after the waits that it asked for in Retry-After; try again in a few minutes"),
        ("Run", Fault(502, "bad gateway"), "unreachable", "fails (HTTP 502); try again later"),
        ("Run", Fault(200, page="<html><script>alert(1)</script><h1>Sign in</h1></html>"), "server", "failed while it was read (invalid character '<'"),
        ("Run", Fault(200, "internal riddle"), "server", "failed while it was read (input: project internal riddle)"),
    ],
)  # fmt: skip
def test_what_the_server_answers_becomes_one_line(backend, session, operation, fault, kind, says):
    url = backend.add(StoredRun("r1", history=ROWS))
    backend.faults[operation] = fault

    found, message = failing(url, session)

    assert (found, says in message) == (kind, True), message
    assert message.startswith("acme/llm/r1: ")


def test_a_run_that_is_not_there_and_a_project_that_is_hidden_differ(backend, session, server):
    backend.add(StoredRun("r1"))

    assert failing(f"{backend.url}/acme/llm/runs/nope", session) == (
        "not_found",
        "acme/llm/nope: no such run in this project; its id is the last part of its address, behind /runs/",
    )
    assert failing(f"{backend.url}/acme/secret/runs/r1", session) == (
        "private",
        (
            f"acme/secret/r1: {server} shows your key no project acme/secret: check the names; if it is private, ask its"
            " owner for access or use the key of a member"
        ),
    )


def test_a_display_name_finds_its_run_unless_several_have_it(backend, session):
    backend.add(StoredRun("id1", display_name="eager-fox-1", history=ROWS))
    for run_id in ("id2", "id3"):
        backend.add(StoredRun(run_id, display_name="twice"))

    assert fetch_run(
        parse_address(f"{backend.url}/acme/llm/runs/eager-fox-1"), session=session
    ).name.endswith("-id1")
    kind, message = failing(f"{backend.url}/acme/llm/runs/twice", session)
    assert (kind, "give the id of one: id2, id3" in message) == ("not_found", True)


def test_a_history_that_cannot_be_read_to_its_end_says_that_what_came_is_kept(backend, session):
    url = backend.add(StoredRun("half", history=ROWS))
    backend.faults["HistoryPage"] = Fault(200, "export is not finished")

    kind, message = failing(url, session)
    assert kind == "incomplete"
    assert message.endswith(
        "the history cannot be read to its end, what was fetched is kept: run the same command again to go on"
    )

    backend.faults.clear()
    backend.requests.clear()
    fetch_run(parse_address(url), session=session)
    assert "HistoryPage" in backend.operations()
    assert "RunConsoleLogPage" not in backend.operations()  # was whole the first time


def test_a_server_that_neither_answers_nor_refuses_is_left(backend, environment, server):
    url = backend.add(StoredRun("r1", history=ROWS))
    with Session(default_server(), Limits()) as short:
        fetch_run(parse_address(url), session=short)
        short.limits = Limits(stall_s=0.7)
        # The client waits as Retry-After says; to its owner that looks like silence.
        backend.faults["Run"] = Fault(429, "rate limit exceeded", {"Retry-After": "60"})
        assert failing(url, short) == (
            "rate_limit",
            (
                f"{server} limits your requests (HTTP 429); the waits that it asked for in Retry-After were kept for 1 s;"
                " try again in a few minutes"
            ),
        )
        backend.faults["Viewer"] = Fault(silence_s=3)
        assert failing(url, short) == (
            "timeout",
            f"{server} did not answer within 1 s; check the connection and try again (what was fetched is kept)",
        )


def test_an_answer_that_never_ends_does_not_fill_the_memory(backend, environment, server, monkeypatch):
    url = backend.add(StoredRun("endless", history=ROWS))
    # A busy machine takes its time to send that much: neither silence nor the client's patience is tried here.
    monkeypatch.setenv("WANDB_HTTP_TIMEOUT", "120")
    with Session(default_server(), Limits(memory_bytes=400 << 20, stall_s=300)) as flooded:
        backend.faults["Run"] = Fault(endless=True)
        kind, said = failing(url, flooded)

    assert kind == "server"
    assert "does not end: more than 400 MiB" in said


def test_a_refused_key_and_a_wrong_server(backend, environment, server):
    url = backend.add(StoredRun("r1", history=ROWS))
    answers = {
        "refused_key": Fault(401, "user is not logged in"),
        "address": Fault(404, "nope"),
        "rate_limit": Fault(429, "rate limit exceeded", {"Retry-After": "0"}),
    }
    with Session(default_server(), Limits()) as fresh:
        told = {}
        for kind, backend.faults["Viewer"] in answers.items():
            found, told[kind] = failing(url, fresh)
            assert found == kind
        backend.faults.clear()
        assert fetch_run(parse_address(url), session=fresh)
    assert told["refused_key"] == (
        f"{server} refuses the API key; create one at {server}/authorize and set WANDB_API_KEY or run:"
        " wandb login --relogin"
    )
    assert told["address"] == f"{server} is no W&B server; check the address or WANDB_BASE_URL"
    assert told["rate_limit"].startswith(f"{server} limits your requests (HTTP 429)")


# As the client of 2026 says it.
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (
            "Failed to execute API request: the service process is busy and did not respond in time.",
            "timeout",
        ),
        ("POST https://w/graphql giving up after 5 attempt(s): context deadline exceeded", "timeout"),
        ("dial tcp: lookup w.example: no such host", "unreachable"),
        ("tls: failed to verify certificate: x509: certificate signed by unknown authority", "unreachable"),
        (
            "POST https://w/graphql giving up after 5 attempt(s)\nwhile retrying: HTTP 429: slow down",
            "rate_limit",
        ),
        ("returned error 503: {}", "unreachable"),
        ("input: project could not find run e/p/x", "not_found"),
    ],
)
def test_words_of_the_client_have_a_meaning(text, kind):
    failure = explain(RuntimeError(text), server="w.example", what="e/p/x")
    assert (failure.kind, failure.message.startswith("e/p/x: "), "\n" in failure.message) == (
        kind,
        True,
        False,
    )


def test_a_server_that_is_not_there(patch):
    patch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")
    kind, message = failing("http://127.0.0.1:9/acme/llm/runs/r1")
    assert kind == "unreachable"
    assert message == (
        "127.0.0.1:9 cannot be reached; check the address, the network, proxy (HTTPS_PROXY) and certificates"
    )


def test_no_key_is_told_without_a_question_and_without_starting_a_client(backend, patch, server):
    patch.delenv("WANDB_API_KEY")

    assert failing(f"{backend.url}/acme/llm/runs/r1") == (
        "no_key",
        f"no API key for {server}; set WANDB_API_KEY or run: wandb login --host {backend.url}",
    )
    patch.delenv("WANDB_BASE_URL")
    assert failing("https://wandb.ai/acme/llm/runs/r1") == (
        "no_key",
        "no API key for wandb.ai; set WANDB_API_KEY or run: wandb login",
    )
    assert backend.requests == []


def test_a_key_goes_to_its_own_server_only(backend, patch):
    patch.setenv("WANDB_BASE_URL", "https://wandb.acme.example")

    kind, message = failing(f"{backend.url}/acme/llm/runs/r1")

    assert kind == "no_key"
    assert message.startswith(
        f"WANDB_API_KEY is for wandb.acme.example and is not sent to {backend.url[7:]}; if you trust that server set"
        f" WANDB_BASE_URL={backend.url} or run: wandb login --host {backend.url}"
    )
    assert backend.requests == []


def test_no_key_goes_over_a_line_that_others_read(backend, patch, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text(f"machine wandb.acme.example\n login user\n password {KEY}\n")
    netrc.chmod(0o600)
    patch.setenv("NETRC", str(netrc))
    patch.delenv("WANDB_API_KEY")
    with pytest.raises(FetchError, match="no key is sent over http"):
        key_source(parse_address("http://wandb.acme.example/acme/llm/runs/3n17wxwa").server)
    assert key_source(parse_address("https://wandb.acme.example/acme/llm/runs/3n17wxwa").server) == "netrc"
    patch.setenv("WANDB_BASE_URL", "http://wandb.acme.example")
    assert key_source(parse_address("http://wandb.acme.example/acme/llm/runs/3n17wxwa").server) == "netrc"


def test_netrc_holds_keys_of_other_servers(backend, patch, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text(f"machine {backend.url[7:]}\n login user\n password {KEY}\n")
    netrc.chmod(0o600)
    patch.setenv("NETRC", str(netrc))
    patch.delenv("WANDB_API_KEY")
    patch.setenv("WANDB_BASE_URL", "https://wandb.acme.example")
    url = backend.add(StoredRun("from-netrc", history=ROWS))

    assert fetch_run(parse_address(url)).name.endswith("from-netrc")


def test_offline_without_a_cache_says_so_and_asks_nobody(backend, patch):
    url = f"{backend.url}/acme/llm/runs/never-seen"

    assert failing(url, offline=True) == ("offline", f"{url}: not in the cache; run once without --offline")
    assert backend.requests == []


def test_a_client_that_cannot_be_imported(backend, patch, tmp_path):
    (tmp_path / "wandb.py").write_text("raise ImportError('No module named something')")
    patch.setenv("PYTHONPATH", str(tmp_path))

    kind, message = failing(f"{backend.url}/acme/llm/runs/r1")

    assert kind == "no_client"
    assert message == (
        "the wandb package cannot be imported (ImportError: No module named something); repair it:"
        " pip install --upgrade wandb"
    )


def test_a_client_that_dies_is_told(backend, patch, tmp_path):
    (tmp_path / "wandb.py").write_text("import os; os._exit(3)")
    patch.setenv("PYTHONPATH", str(tmp_path))

    assert failing(f"{backend.url}/acme/llm/runs/r1")[0] == "server"


def test_a_cache_that_cannot_be_written(backend, session, patch, tmp_path):
    (tmp_path / "file").write_text("")
    patch.setenv("ANALYZER_CACHE_DIR", str(tmp_path / "file" / "cache"))
    url = backend.add(StoredRun("r1", history=ROWS))

    kind, message = failing(url, session)

    assert kind == "cache"
    assert message.endswith(
        "the cache cannot be written (Not a directory); free it or set ANALYZER_CACHE_DIR to a folder that can be"
    )


def test_the_command_line_shows_one_line_and_masks_what_was_pasted(backend, patch):
    shown = command("diagnose", "https://ada:hunter2secret@wandb.ai/acme/llm/runs/r1")
    assert shown.returncode == 3
    assert shown.stderr.count("\n") == 1
    assert "hunter2" not in shown.stdout + shown.stderr

    in_json = command("diagnose", "https://ada:hunter2secret@wandb.ai/acme/llm/runs/r1", "-f", "json")
    assert json.loads(in_json.stdout)["status"] == "unreadable"
    assert "hunter2" not in in_json.stdout + in_json.stderr


def on_a_terminal(*arguments):
    """What a user sees on the terminal, who types nothing; and the exit code."""
    ours, theirs = pty.openpty()
    line = [sys.executable, "-m", "analyzer", *arguments]
    with subprocess.Popen(
        line, stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs, env=dict(os.environ)
    ) as process:
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # the end of a terminal
            while block := os.read(ours, 4096):
                shown += block
        code = process.wait(60)
    os.close(ours)
    return code, shown.decode()


def test_a_terminal_shows_progress_and_is_never_asked(backend, patch):
    url = backend.add(StoredRun("shown", history=ROWS, files={"a.log": b"x"}))
    code, shown = on_a_terminal("diagnose", url)
    assert code == 0
    assert "\r\x1b[Kacme/llm/shown: asking the server" in shown
    assert shown.endswith("\r\x1b[K")  # nothing stays

    patch.delenv("WANDB_API_KEY")
    code, shown = on_a_terminal("diagnose", url)
    assert (code, shown.count("\n")) == (3, 1)
    assert "set WANDB_API_KEY or run: wandb login" in shown


def test_errors_pass_from_one_process_to_another():
    error = pickle.loads(pickle.dumps(FetchError("w.example cannot be reached", kind="unreachable")))
    assert (str(error), error.kind, error.is_transient) == (
        "w.example cannot be reached",
        "unreachable",
        True,
    )


def test_a_project_belongs_to_triage(backend, patch):
    shown = command("diagnose", f"{backend.url}/acme/llm/sweeps/ab12cd?nw=x")
    assert shown.returncode == 3
    assert shown.stderr == (
        f"analyzer: {backend.url}/acme/llm/sweeps/ab12cd: this is a sweep, not a run;"
        f" use: analyzer triage {backend.url}/acme/llm/sweeps/ab12cd\n"
    )


def test_a_text_that_may_be_a_path_is_told_as_both(patch):
    patch.delenv("WANDB_API_KEY")
    assert failing("acme/llm/3n17wxwa")[1].startswith(
        "acme/llm/3n17wxwa: no such file or directory, so it was taken for a W&B run: no API key for"
    )


def test_a_project_that_cannot_be_listed(backend, session, server):
    with pytest.raises(FetchError) as caught:
        list(list_runs(parse_address(f"{backend.url}/acme/none"), session=session))
    assert caught.value.message == (
        f"acme/none: {server} shows your key no such project: check the names; if it is private, ask its owner for"
        " access or use the key of a member"
    )
