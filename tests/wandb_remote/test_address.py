"""Every shape in which people paste the address of a run is understood; everything else is a path or a clear error."""

import re
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.errors import FetchError, InputError
from analyzer.fetch.address import RunAddress, RunSetAddress, default_server, parse_address
from analyzer.fetch.cache import safe_name

PUBLIC = "https://wandb.ai/acme/llm/runs/3n17wxwa"


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch):
    monkeypatch.delenv("WANDB_BASE_URL", raising=False)


@pytest.mark.parametrize(
    "text",
    [
        PUBLIC,
        f"{PUBLIC}/",
        f"{PUBLIC}/overview",
        f"{PUBLIC}/logs?nw=nwuserada",
        f"{PUBLIC}/files/conf/a.yaml",
        f"{PUBLIC}/system#chart",
        f"{PUBLIC}?apiKey=0123456789abcdef",
        f"  <{PUBLIC}>. ",
        f'"{PUBLIC}",',
        f"{PUBLIC}/workspace?nw=nwuserada",
        "http://wandb.ai/acme/llm/runs/3n17wxwa",
        "HTTPS://WANDB.AI/acme/llm/runs/3n17wxwa",
        "wandb.ai/acme/llm/runs/3n17wxwa",
        "https://www.wandb.ai/acme/llm/runs/3n17wxwa",
        "https://app.wandb.ai/acme/llm/runs/3n17wxwa",
        "https://api.wandb.ai/acme/llm/runs/3n17wxwa",
        "https://forge.coreweave.com/wandb/acme/llm/runs/3n17wxwa/logs",
        "forge.coreweave.com/wandb/acme/llm/runs/3n17wxwa",
        "https://wandb.ai/acme/llm/3n17wxwa",
        "wandb://acme/llm/3n17wxwa",
        "wandb://acme/llm/runs/3n17wxwa",
        "wandb://acme/llm:3n17wxwa",
        "acme/llm/3n17wxwa",
        "acme/llm/runs/3n17wxwa",
        "acme/llm:3n17wxwa",
    ],
)
def test_all_spellings_are_one_run(text):
    address = parse_address(text)

    assert isinstance(address, RunAddress)
    assert (address.path, address.url, address.server.name) == ("acme/llm/3n17wxwa", PUBLIC, "wandb.ai")
    assert "0123456789abcdef" not in repr(address)


def test_the_new_host_is_asked_under_its_own_name():
    assert (
        parse_address("https://forge.coreweave.com/wandb/a/b/runs/c").server.api_url
        == "https://api.forge.coreweave.com"
    )
    assert parse_address("https://wandb.ai/a/b/runs/c").server.api_url == "https://api.wandb.ai"


@pytest.mark.parametrize(
    ("text", "api_url", "name"),
    [
        ("https://wandb.acme.com/a/b/runs/c", "https://wandb.acme.com", "wandb.acme.com"),
        ("http://10.0.0.7:8080/a/b/runs/c/logs", "http://10.0.0.7:8080", "10.0.0.7:8080"),
        ("http://[::1]:8080/a/b/runs/c", "http://[::1]:8080", "[::1]:8080"),
        ("https://acme.wandb.io/a/b/runs/c", "https://acme.wandb.io", "acme.wandb.io"),
    ],
)
def test_self_hosted_servers(text, api_url, name):
    address = parse_address(text)
    assert (address.server.api_url, address.server.name, address.path) == (api_url, name, "a/b/c")


def test_a_server_below_a_path_is_known_from_the_setting(monkeypatch):
    monkeypatch.setenv("WANDB_BASE_URL", "https://tools.acme.com/wandb/")
    address = parse_address("https://tools.acme.com/wandb/a/b/runs/c")

    assert (address.path, address.server.api_url) == ("a/b/c", "https://tools.acme.com/wandb")
    assert parse_address("a/b/c").server == address.server
    monkeypatch.setenv("WANDB_BASE_URL", "wandb.acme.com")
    with pytest.raises(FetchError, match="set it like https"):
        default_server()


@pytest.mark.parametrize(
    ("tail", "what"),
    [
        ("", ("project", "", "")),
        ("/", ("project", "", "")),
        ("/table?nw=x", ("project", "", "")),
        ("/workspace", ("project", "", "")),
        ("/runs", ("project", "", "")),
        ("/sweeps", ("project", "", "")),
        ("/sweeps/ab12cd34", ("sweep", "ab12cd34", "")),
        ("/sweeps/ab12cd34/workspace", ("sweep", "ab12cd34", "")),
        ("/groups/my%20group/workspace", ("group", "", "my group")),
        ("/groups/exp%2F1", ("group", "", "exp/1")),
    ],
)
def test_many_runs_at_once(tail, what):
    address = parse_address(f"https://wandb.ai/acme/llm{tail}")

    assert isinstance(address, RunSetAddress)
    assert (address.what, address.sweep, address.group) == what
    assert parse_address(address.url) == address


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "https://ada:s3cretpass@wandb.ai/a/b/runs/c",
            "https://***@wandb.ai/a/b/runs/c: a user name, password or key",
        ),
        ("https://0123456789abcdef0123456789abcdef01234567@wandb.ai/a/b", "does not belong into an address"),
        ("https://wandb.ai/a/b/reports/Title--VmlldzoxMjM", "this is a report; open a run that it shows"),
        (
            "https://wandb.ai/a",
            "no run in this address; expected https://wandb.ai/<entity>/<project>/runs/<run id>",
        ),
        ("https://wandb.ai/a/projects", "no run in this address"),
        ("https://wandb.ai/orgs/acme/dashboard", "no run in this address"),
        ("https://wandb.ai/a/b/artifacts/model/m/v0", "neither a run nor a project, sweep or group"),
        ("https://example.com/train.log", "no run in this address"),
        ("s3://bucket/runs/1", "download the run and give its directory"),
        ("https:///a/b/runs/c", "names no server"),
        ("https://[::1/a/b/runs/c", "not a valid address"),
        ("https://wandb.ai/a/b/runs/%2e%2e%2f%2e%2e", "not the address of a W&B run"),
        ("https://wandb.ai/a/b/runs/a%00b", "not the address of a W&B run"),
        ("https://wandb.ai/" + "a" * 3_000, "longer than 2,000 characters"),
    ],
)
def test_what_is_no_run_is_told_in_one_line(text, says):
    with pytest.raises(InputError) as caught:
        parse_address(text)
    message = str(caught.value)

    assert says in message
    assert "\n" not in message
    assert "s3cretpass" not in message
    assert "0123456789abcdef" not in message


@pytest.mark.parametrize(
    "text",
    [
        "runs/7b/train.log",
        "./a/b/c",
        "/a/b/c",
        "~/a/b/c",
        "a/b",
        "a",
        "-",
        "",
        "a/b/c/d",
        "a//c",
        "C:\\a\\b",
        "a/b/c d",
    ],
)
def test_paths_stay_paths(text):
    assert parse_address(text) is None


def test_a_local_path_wins_over_a_bare_address(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "acme" / "llm" / "run1").mkdir(parents=True)

    assert parse_address("acme/llm/run1") is None
    assert parse_address("acme/llm/run2") is None  # mistyped below a directory that is there
    assert parse_address("other/llm/run2") is not None


names = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Z"], exclude_characters="/"),
    min_size=1,
    max_size=40,
)
ids = st.from_regex(re.compile(r"[A-Za-z0-9_-]{1,40}"), fullmatch=True)


@given(
    names,
    names,
    ids,
    st.sampled_from(["", "/overview", "/logs", "/files/a.log", "/system"]),
    st.sampled_from(["", "?nw=x&y=1"]),
)
def test_whatever_the_names_they_come_back(entity, project, run_id, tab, query):
    words = {
        "reports",
        "reportlist",
        "projects",
        "orgs",
        "settings",
        "login",
        "authorize",
        "signup",
        "site",
        "home",
        "registry",
    }
    if {entity.lower(), project.lower()} & words or set(entity + project) & {".", ":"}:
        return
    text = f"https://wandb.ai/{quote(entity, safe='')}/{quote(project, safe='')}/runs/{run_id}{tab}{query}"
    address = parse_address(text)

    assert (address.entity, address.project, address.run_id) == (entity, project, run_id)
    assert parse_address(address.url) == address


@given(st.text(max_size=200))
def test_any_text_gives_an_address_a_path_or_an_input_error(text):
    for candidate in (text, f"https://wandb.ai/{text}", f"https://{text}", f"wandb://{text}"):
        try:
            address = parse_address(candidate)
        except InputError as error:
            assert "\n" not in str(error)  # noqa: PT017
        else:
            assert address is None or address.entity


@given(st.text(max_size=300), st.text(max_size=300))
def test_names_in_the_cache_never_meet_and_never_leave(first, second):
    for name in (safe_name(first), safe_name(second)):
        assert re.fullmatch(r"[A-Za-z0-9._-]+", name)
        assert name not in (".", "..")
        assert len(name) < 120
    assert (safe_name(first).lower() == safe_name(second).lower()) == (first == second)
