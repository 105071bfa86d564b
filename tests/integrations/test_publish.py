"""``--publish`` with each real library; one that is not installed is skipped."""

import os
from pathlib import Path

import pytest

from analyzer.api import diagnose
from analyzer.errors import InputError
from analyzer.integrations.publish import SERVICES, publish

pytestmark = pytest.mark.filterwarnings("ignore")  # those of the services are not ours
SAMPLE = Path(__file__).parent.parent.parent / "samples" / "failed" / "qwen2-fp16-sft-loss-zero"


@pytest.fixture(scope="module")
def found():
    return diagnose(SAMPLE)


def test_tensorboard_gets_a_text_summary_that_its_own_reader_reads(found, tmp_path):
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    place = publish(found, "tensorboard", str(tmp_path), "", "the brief\n<b>as it stands</b>")
    events = [event for path in Path(place).iterdir() for event in EventFileLoader(str(path)).Load()]
    values = [value for event in events for value in event.summary.value]

    assert [value.tag for value in values] == ["analyzer/failed"]
    assert b"    the brief\n    <b>" in values[0].tensor.string_val[0]


def test_mlflow_gets_tags_and_the_report(found, tmp_path, monkeypatch):
    client_module = pytest.importorskip("mlflow.tracking", reason="mlflow is not installed")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # newer ones keep it for old runs only
    uri = (tmp_path / "mlruns").as_uri()
    client = client_module.MlflowClient(uri)
    run = client.create_run(client.create_experiment("sft"))
    publish(
        found,
        "mlflow",
        str(tmp_path / "mlruns" / run.info.experiment_id / run.info.run_id),
        "<html>",
        "brief",
    )
    tags = client.get_run(run.info.run_id).data.tags

    assert tags["analyzer.status"] == "failed"
    assert tags["analyzer.cause"] == "bf16-pretrained-model-in-fp16"
    assert {item.path for item in client.list_artifacts(run.info.run_id, "analyzer")} == {
        "analyzer/report.html",
        "analyzer/brief.txt",
    }


def test_wandb_gets_them_offline_under_the_id_of_the_run(found, tmp_path, monkeypatch):
    for name, value in {"WANDB_MODE": "offline", "WANDB_DIR": str(tmp_path), "WANDB_SILENT": "true"}.items():
        monkeypatch.setenv(name, value)
    run = tmp_path / "run" / "wandb" / "offline-run-20261121_064457-dfv8t0au"
    run.mkdir(parents=True)
    publish(found, "wandb", str(tmp_path / "run"), "<html><body>report</body></html>", "brief")

    assert list((tmp_path / "wandb").glob("offline-run-*-dfv8t0au/*.wandb"))


def test_trackio_gets_them_as_values_of_the_run(found, tmp_path, monkeypatch):
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path))
    trackio = pytest.importorskip("trackio", reason="trackio is not installed")
    trackio.init(project="sft", name="first")
    trackio.log({"loss": 1.0})
    trackio.finish()
    monkeypatch.setenv("TRACKIO_PROJECT", "sft")
    monkeypatch.setenv("TRACKIO_RUN", "first")

    assert publish(found, "trackio", ".", "", "") == "run first of sft: analyzer.*"


@pytest.mark.parametrize("service", sorted(SERVICES))
def test_a_place_that_is_no_run_of_the_service_is_refused(found, service, tmp_path):
    for name in ("TRACKIO_PROJECT", "TRACKIO_RUN"):
        os.environ.pop(name, None)
    with pytest.raises(InputError, match=f"--publish {service}"):
        publish(
            found, service, str(tmp_path if service in {"wandb", "mlflow"} else tmp_path / "none"), "", ""
        )
