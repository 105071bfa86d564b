"""The stored trainings: every form prints what it says it prints, and the cases need no torch."""

import json

import pytest

import analyzer.pipeline
from analyzer.api import diagnose
from samples.lab.trainings import forms
from samples.lab.trainings.judging import form_of

STEPS = {"loss": 2.0, "accuracy": 0.25, "grad_norm": 1.5, "lr": 0.01, "step_time": 0.002}
EPOCHS = {
    "loss": 1.5,
    "accuracy": 0.5,
    "val_loss": 1.25,
    "val_accuracy": 0.625,
    "lr": 0.01,
    "epoch_time": 2.0,
    "grad_norm": 1.5,
}


def _stored():
    def curves(values, at):
        return [{"name": name, "at": at, "value": [value] * len(at)} for name, value in values.items()]

    held_out = curves({"val_loss": 1.25, "val_accuracy": 0.625}, [9, 19, 29])
    settings = {"lr": 0.01, "batch_size": 16, "optimizer": "sgd", "clip": None}
    return {
        "run_id": "g001-twin",
        "task": "digits",
        "epochs": curves(EPOCHS, [1, 2, 3]),
        "steps": [*curves(STEPS, [0, 10, 20]), *held_out],
        "settings": [{"key": key, "value": json.dumps(value)} for key, value in settings.items()],
    }


@pytest.mark.parametrize(
    "form", [form for kind in forms.KINDS.values() for form in kind], ids=lambda f: f.name
)
def test_a_form_prints_the_curves_that_it_is_said_to_print(form, tmp_path):
    seen = []
    kept = analyzer.pipeline.assess

    def look(run, *more, **others):
        seen.append(set(run.metrics.names))
        return kept(run, *more, **others)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(analyzer.pipeline, "assess", look)
        for name, content in forms.files(_stored(), form, "").items():
            (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        diagnose(tmp_path)
    read = {"eval_loss": "val_loss", "eval_accuracy": "val_accuracy"}
    names = {read.get(name, name) for name in seen[0]}

    for name in ("loss", "val_loss", "grad_norm"):
        assert form.prints(name) == (name in names), name


@pytest.mark.parametrize("configuration", sorted(set(forms.CONFIGURATIONS)))
def test_settings_are_stated_in_one_place_or_nowhere(configuration):
    files = forms.files(_stored(), forms.bars, configuration)
    text = "".join(str(content) for content in files.values())

    assert ("0.01" in text) == bool(configuration)


def test_the_form_of_a_run_is_drawn_by_its_name_alone():
    stored = _stored()

    assert form_of(stored, "files") is form_of({**stored, "task": "shapes"}, "files")
