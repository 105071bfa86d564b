import pytest
from structured_reading import claimed_by, read_files

from analyzer.ingest.formats.config.requirements import parse_version

FREEZE = """\
# a comment
accelerate==1.15.0
deepspeed==0.17.6
Flash_Attn @ file:///build/flash_attn-2.7.0.post2-cp311-cp311-linux_x86_64.whl
some-thing==1.0
torch==2.5.1+cu124
transformers>=4.40
-e git+https://example.org/x.git#egg=x
"""


def test_exact_versions_are_kept_with_their_line():
    run = read_files({"files/requirements.txt": FREEZE})

    assert run.config["versions.deepspeed"].value == "0.17.6"
    assert run.config["versions.deepspeed"].ref.line == 3
    assert run.config.value("versions.torch") == "2.5.1+cu124"
    assert run.config.value("versions.flash_attn") == "2.7.0.post2"


def test_a_lower_bound_is_not_a_version_and_other_packages_are_left_out():
    run = read_files({"requirements.txt": FREEZE})

    assert "versions.transformers" not in run.config
    assert not any(entry.key_in_source == "some-thing" for entry in run.config.entries)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("torch == 2.1.0 ; python_version > '3.8'", ("torch", "2.1.0")),
        ("torch[opt]===2.1.0  # pinned", ("torch", "2.1.0")),
        (
            "torch @ https://h/whl/cu121/torch-2.1.0%2Bcu121-cp310-cp310-linux_x86_64.whl#sha256=0",
            ("torch", "2.1.0+cu121"),
        ),
        ("torch==2.*", None),
        ("torch", None),
        ("the loss == 2.0 at step 5", None),
    ],
)
def test_forms_of_a_line(line, found):
    assert parse_version(line) == found


def test_freeze_output_is_known_by_its_lines_and_logs_are_not():
    assert claimed_by("env.txt", FREEZE.replace("transformers>=4.40\n", "")) == "requirements"
    assert claimed_by("train.log", "step 1\nloss==2.0\nstep 2\nloss==1.0\nloss==0.5\n") is None
