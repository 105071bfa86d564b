"""A server and a session that many tests share: the real client takes a second to start."""

import pytest

pytest.importorskip("wandb.proto.wandb_internal_pb2", reason="needs the wandb package")

from wandb_server import Backend

from analyzer.fetch.limits import Limits
from analyzer.fetch.session import Session

KEY = "k" * 40
# What a user may have set and what would change what the tests see.
FOREIGN = (
    "WANDB_API_KEY",
    "WANDB_BASE_URL",
    "WANDB_IDENTITY_TOKEN_FILE",
    "NETRC",
    "HTTP_PROXY",
    "http_proxy",
)
QUICK = {
    "WANDB__GRAPHQL_RETRY_MAX": "1",
    "WANDB__GRAPHQL_RETRY_WAIT_MIN_SECONDS": "0.05",
    "WANDB__GRAPHQL_RETRY_WAIT_MAX_SECONDS": "0.1",
    "WANDB__FILE_TRANSFER_RETRY_MAX": "1",
    "WANDB__FILE_TRANSFER_RETRY_WAIT_MIN_SECONDS": "0.05",
    "WANDB__FILE_TRANSFER_RETRY_WAIT_MAX_SECONDS": "0.1",
    "WANDB_HTTP_TIMEOUT": "3",
}


@pytest.fixture(scope="module")
def backend():
    backend = Backend()
    yield backend
    backend.close()


@pytest.fixture(scope="module")
def environment(backend, tmp_path_factory):
    """The environment of a user who works with that server, with a key in it, and with an empty cache."""
    with pytest.MonkeyPatch.context() as patch:
        for name in FOREIGN:
            patch.delenv(name, raising=False)
        home = tmp_path_factory.mktemp("home")
        for name, value in {
            **QUICK,
            "HOME": str(home),
            "ANALYZER_CACHE_DIR": str(home / "cache"),
            "WANDB_BASE_URL": backend.url,
            "WANDB_API_KEY": KEY,
        }.items():
            patch.setenv(name, value)
        yield patch


@pytest.fixture(scope="module")
def session(backend, environment):
    from analyzer.fetch.address import default_server

    with Session(default_server(), Limits()) as session:
        yield session


@pytest.fixture(autouse=True)
def _no_faults(request):
    """Each test sees a server without faults and without a past."""
    if "backend" in request.fixturenames:
        backend = request.getfixturevalue("backend")
        backend.faults.clear()
        backend.requests.clear()
