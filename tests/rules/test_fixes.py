"""Changes of the user's own files: a printed diff applies as it is, or every key is listed as text."""

import json
import shutil
import subprocess
from types import SimpleNamespace

import pytest

from analyzer.api import load
from analyzer.ingest.quote import Quoter
from analyzer.rules.fixing.fixes import resolve_fixes
from analyzer.rules.schema import RuleFix

BF16 = {
    "hf-trainer": {"bf16": True, "fp16": False},
    "deepspeed": {"bf16.enabled": True, "fp16.enabled": False},
}
HF = ("output_dir: out\n", "num_train_epochs: 1\n", "per_device_train_batch_size: 4\n")


def fixed(root, change, facts=None):
    """The changes of one fix for the run in a directory."""
    run = load(root)
    fix = RuleFix(id="f", title="a fix", strength="cures", cost="free", change=change)
    (found,) = resolve_fixes(SimpleNamespace(fixes=(fix,)), run, facts or {}, Quoter(run).lines)
    return found.changes


def diff_of(changes):
    return "".join(change.diff for change in changes)


def write(root, name, text):
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_bytes(text.encode())


def patched(root, name, change=BF16, facts=None):
    """Text of the file after ``patch -p1`` in the run's root, without fuzz or offset."""
    if shutil.which("patch") is None:
        pytest.skip("patch is not installed")
    diff = diff_of(fixed(root, change, facts))
    assert diff
    result = subprocess.run(
        ["patch", "-p1", "--fuzz=0", "--binary"],
        cwd=root,
        input=diff.encode(),
        capture_output=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout.decode() + diff
    assert b"offset" not in result.stdout
    assert b"fuzz" not in result.stdout
    return (root / name).read_bytes().decode()


AFTER = "".join(HF) + "fp16: false\nbf16: true\n"


def test_a_key_on_the_last_line(tmp_path):
    write(tmp_path, "train.yaml", "".join(HF) + "fp16: true\n")

    assert patched(tmp_path, "train.yaml") == AFTER


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["", "lr: 1e-4", "seed: 1\nlr: 1e-4"])
def test_a_file_without_a_newline_at_its_end(tmp_path, last, newline):
    text = "".join(HF) + "fp16: true" + ("\n" + last if last else "")
    write(tmp_path, "train.yaml", text.replace("\n", newline))

    expected = AFTER + last if last else AFTER.removesuffix("\n")
    assert patched(tmp_path, "train.yaml") == expected.replace("\n", newline)


def test_windows_line_endings_stay(tmp_path):
    write(tmp_path, "train.yaml", ("".join(HF) + "fp16: true\nseed: 1\n").replace("\n", "\r\n"))

    assert patched(tmp_path, "train.yaml") == (AFTER + "seed: 1\n").replace("\n", "\r\n")


@pytest.mark.parametrize("name", ["my config.yaml", "a b/c d.yaml"])
def test_a_name_with_spaces(tmp_path, name):
    write(tmp_path, name, "".join(HF) + "fp16: true\n")

    assert patched(tmp_path, name) == AFTER


def test_a_secret_beside_the_key_is_neither_shown_nor_in_the_way(tmp_path):
    secrets = "wandb_api_key: abcdef0123456789\n", "hub_token: abcdef0123456789\n"
    write(tmp_path, "train.yaml", "".join(HF) + secrets[0] + "fp16: true\n" + secrets[1])

    assert "abcdef" not in diff_of(fixed(tmp_path, BF16))
    assert (
        patched(tmp_path, "train.yaml") == "".join(HF) + secrets[0] + "fp16: false\nbf16: true\n" + secrets[1]
    )


def test_a_line_that_cannot_be_shown_is_not_edited_by_diff(tmp_path):
    write(
        tmp_path,
        "train.json",
        '{"fp16": true, "num_train_epochs": 1, "output_dir": "x", "wandb_api_key": "abcdef0123456789"}\n',
    )
    changes = fixed(tmp_path, BF16)

    assert diff_of(changes) == ""
    assert {change.key for change in changes} == {"bf16", "fp16"}


def test_json_on_one_line_gets_the_missing_key_too(tmp_path):
    write(tmp_path, "train.json", '{"num_train_epochs": 1, "fp16": true, "learning_rate": 1}\n')

    text = patched(tmp_path, "train.json")
    assert text == '{"num_train_epochs": 1, "bf16": true, "fp16": false, "learning_rate": 1}\n'


def test_json_sections_on_lines_and_on_one_line(tmp_path):
    for name, indent in {"ds_config.json": 2, "ds_short.json": None}.items():
        root = tmp_path / name
        data = {"zero_optimization": {"stage": 2}, "fp16": {"enabled": True, "loss_scale": 0}}
        write(root, name, json.dumps(data, indent=indent))

        data["bf16"], data["fp16"]["enabled"] = {"enabled": True}, False
        assert json.loads(patched(root, name)) == data


def test_a_new_key_goes_into_the_section_that_is_there(tmp_path):
    write(
        tmp_path, "ds.json", '{\n  "zero_optimization": {\n    "stage": 2\n  },\n  "steps_per_print": 1\n}\n'
    )
    change = {
        "deepspeed": {"zero_optimization.stage": 3, "zero_optimization.offload_optimizer.device": "cpu"}
    }

    data = json.loads(patched(tmp_path, "ds.json", change))
    assert data["zero_optimization"] == {"stage": 3, "offload_optimizer": {"device": "cpu"}}


def test_what_cannot_be_inserted_leaves_every_key_as_text(tmp_path):
    write(
        tmp_path,
        "config.py",
        "optim_wrapper = dict(type='OptimWrapper')\nstrategy = dict(fp16=dict(enabled=True))\n",
    )
    changes = fixed(tmp_path, {"mmengine": {"strategy.bf16.enabled": True, "strategy.fp16.enabled": False}})

    assert [(change.key, change.path) for change in changes] == [
        ("strategy.bf16.enabled", "config.py"),
        ("strategy.fp16.enabled", "config.py"),
    ]
    assert diff_of(changes) == ""


def test_sections_of_one_line_are_not_mixed_up(tmp_path):
    write(
        tmp_path,
        "ds.json",
        '{"zero_optimization": {"stage": 2}, "bf16": {"enabled": false}, "fp16": {"enabled": true}}\n',
    )

    assert diff_of(fixed(tmp_path, BF16)) == ""


def test_two_trainers_that_share_a_file_edit_it_once(tmp_path):
    write(tmp_path, "sft.yaml", "finetuning_type: full\ncutoff_len: 512\nfp16: true\nlearning_rate: 1e-5\n")
    change = {"hf-trainer": BF16["hf-trainer"], "llamafactory": BF16["hf-trainer"]}

    expected = "finetuning_type: full\ncutoff_len: 512\nfp16: false\nbf16: true\nlearning_rate: 1e-5\n"
    assert patched(tmp_path, "sft.yaml", change) == expected


def test_a_key_that_has_its_value_does_not_take_the_diff_along(tmp_path):
    write(tmp_path, "train.yaml", "".join(HF) + "bf16: true\nfp16: true\n")

    assert patched(tmp_path, "train.yaml") == "".join(HF) + "bf16: true\nfp16: false\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "model_name_or_path: q\nbf16: false\nlearning_rate: 1e-4\nmax_grad_norm: 1\nwarmup_steps: 3\nlogging_steps: 1\n",
            "model_name_or_path: q\nbf16: true\nfp16: false\nlearning_rate: 1e-4\nmax_grad_norm: 1\nwarmup_steps: 3\nlogging_steps: 1\n",
        ),
        ("fp16: true\nbf16: false\noutput_dir: o\n", "fp16: false\nbf16: true\noutput_dir: o\n"),
        (
            "trainer:\n  args:\n    fp16: true\n    learning_rate: 1e-4\n  max_steps: 9\n",
            "trainer:\n  args:\n    fp16: false\n    bf16: true\n    learning_rate: 1e-4\n  max_steps: 9\n",
        ),
    ],
)
def test_a_file_that_names_no_trainer_is_edited(tmp_path, text, expected):
    write(tmp_path, "config.yaml", text)

    assert patched(tmp_path, "config.yaml") == expected


def test_files_of_others_are_left_alone(tmp_path):
    write(
        tmp_path,
        "ds.json",
        '{"zero_optimization": {"stage": 2}, "train_batch_size": 8, "gradient_clipping": 0.5}\n',
    )
    write(
        tmp_path, "config.json", '{"model_type": "qwen2", "architectures": ["Q"], "torch_dtype": "float16"}\n'
    )
    changes = fixed(tmp_path, {"hf-trainer": {"max_grad_norm": 1.0, "torch_dtype": "bfloat16"}})

    assert not any(change.path for change in changes)


def test_a_deepspeed_section_of_a_trainers_file_does_not_take_hf_words(tmp_path):
    write(
        tmp_path,
        "train.yaml",
        "learning_rate: 1e-4\nseed: 1\nlogging_steps: 1\ndeepspeed:\n  fp16:\n    enabled: true\n",
    )

    assert "train.yaml" not in {c.path for c in fixed(tmp_path, {"hf-trainer": BF16["hf-trainer"]})}


def test_a_value_from_unknown_facts_is_a_readable_hint(tmp_path):
    write(tmp_path, "train.yaml", "".join(HF))
    product = "= config.train.gradient_accumulation_steps * config.train.micro_batch_size"
    change = {"hf-trainer": {"per_device_train_batch_size": 1, "gradient_accumulation_steps": product}}

    new = {change.key: change.new for change in fixed(tmp_path, change)}
    assert new["gradient_accumulation_steps"] == "<gradient_accumulation_steps * micro_batch_size>"
