"""What an exception tells of its origin: whose code raised it, and where a name is missing."""

import pytest
from log_reading import read_text

from analyzer.detect.failures.exceptions import (
    handshake,
    missing_in,
    raised_at,
    says,
    unread_picture,
)
from analyzer.model.refs import SourceRef
from analyzer.model.tables import Event


def raised(exception="RuntimeError", message="", **fields):
    found = {"exception": exception, "message": message, **fields}
    return Event("python_traceback", "root_candidate", message, SourceRef(0, 1), fields=found)


@pytest.mark.parametrize(
    ("fields", "at"),
    [
        ({"file": "/home/u/train.py"}, "own code"),
        ({"file": "train.py", "raised_in": "/v/lib/python3.11/site-packages/x/y.py"}, "installed package"),
        (
            {"file": "train.py", "raised_in": "/usr/lib/python3.11/multiprocessing/queues.py"},
            "standard library",
        ),
        ({"file": "train.py", "raised_in": "<frozen importlib._bootstrap>"}, "import system"),
        ({"file": "h5py/h5f.pyx"}, "compiled extension"),
        ({}, None),
    ],
)
def test_the_last_frame_tells_whose_code_raised(fields, at):
    assert raised_at(raised(**fields)) == at


@pytest.mark.parametrize(
    ("message", "where"),
    [
        ("cannot import name 'build' from 'models' (/home/u/proj/models/__init__.py)", "own code"),
        ("cannot import name 'x' from 'pkg' (/v/lib/python3.11/site-packages/pkg/__init__.py)", "installed package"),
        ("cannot import name 'x' from partially initialized module 'pkg' (most likely due to a circular import)", "own code"),
        ("No module named 'torchvision.transforms.functional_tensor'", "installed package"),
        ("No module named 'utils.datasets'", "own code"),
        ("No module named 'einops'", None),
        ("No module named 'utils'", "own code"),
        ("No module named 'proj'", "own code"),
        ("No module named 'distutils'", "standard library"),
        ("cannot import name 'Mapping' from 'collections'", "standard library"),
        ("cannot import name 'x' from 'types' (/home/u/proj/types.py)", "own code"),
        ("attempted relative import with no known parent package", "own code"),
        ("No module named '__main__.data'; '__main__' is not a package", "own code"),
    ],
)  # fmt: skip
def test_a_missing_name_belongs_to_the_run_or_to_a_package(message, where):
    assert missing_in(raised("ImportError", message, file="/home/u/proj/train.py")) == where


@pytest.mark.parametrize(
    ("file", "where"),
    [
        ("/home/u/proj/ops/pool/pool_module.py", "own extension"),
        ("/home/u/proj/pool/train.py", "own code"),
        ("/home/u/proj/pool_module.py", None),
    ],
    ids=["a file that hands on what is built", "a program in its package", "a file elsewhere"],
)
def test_what_a_file_of_its_name_imports_is_the_compiled_part_of_the_own_files(file, where):
    assert missing_in(raised("ModuleNotFoundError", "No module named 'pool'", file=file)) == where


def test_what_a_package_imports_from_itself_is_of_the_own_files_though_ranks_write_at_once():
    text = """Traceback (most recent call last):
  File "tools/train.py", line 20, in <module>
    from acme.solver.loss import seg_loss
  File "/home/u/proj/acme/solver/loss.py", line 9, in <module>
Traceback (most recent call last):
  File "tools/train.py", line 20, in <module>
    from ..models.points import sample
ModuleNotFoundError: No module named 'acme.models.points'
"""
    of_a_package = text.replace("tools/train.py", "/opt/env/lib/python3.8/site-packages/acme/train.py")

    assert missing_in(read_text(text).events.of("python_traceback")[0]) == "own code"
    assert missing_in(read_text(of_a_package).events.of("python_traceback")[0]) == "installed package"


@pytest.mark.parametrize(
    "text",
    [
        "No CUDA GPUs are available", "NCCL error", "Permission denied", "cannot connect to host", "torch.OutOfMemoryError",
        "The file might be corrupted", "disk quota exceeded", "XlaRuntimeError: INTERNAL",
    ],
)  # fmt: skip
def test_what_a_program_stands_on_is_named(text):
    assert says("environment").search(text)


@pytest.mark.parametrize(
    "text", ["list index out of range", "'NoneType' object has no attribute 'shape'", "'input_ids'"]
)
def test_a_plain_mistake_names_nothing_of_it(text):
    assert not says("environment").search(text)
    assert not says("api_clash").search(text)


@pytest.mark.parametrize(
    ("text", "is_clash"),
    [
        ("'Fetcher' object has no attribute 'fetch_all'", True),
        ("'Fetcher' object has no attribute '_fetch_all'", False),
        ("module 'acme.parts' has no attribute '_parts'", True),
        ("Cannot find argument 'half_size', Possible Arguments:", True),
        ("Cannot find argument of that name", False),
    ],
)
def test_a_private_name_is_asked_for_by_its_own_class(text, is_clash):
    assert (says("api_clash").search(text) is not None) is is_clash


@pytest.mark.parametrize(
    "text", ["mat1 dim 1 must match mat2 dim 0", "mat1 and mat2 shapes cannot be multiplied (4x8 and 16x2)"]
)
def test_a_product_of_shapes_that_do_not_fit_is_a_refused_call(text):
    assert says("misuse").search(text)


@pytest.mark.parametrize(
    ("function", "attribute", "file", "is_picture"),
    [
        ("load_data", "shape", "train.py", True),
        ("Crops.__getitem__", "astype", "crops.py", True),
        ("read_image_pair", "ndim", "pairs.py", True),
        ("forward", "shape", "net.py", False),
        ("train_step", "shape", "train.py", False),
        ("load_data", "items", "train.py", False),
    ],
)
def test_what_a_reader_of_data_found_without_a_shape_is_a_picture_that_was_not_read(
    function, attribute, file, is_picture
):
    event = raised(
        "AttributeError", f"'NoneType' object has no attribute '{attribute}'", file=file, function=function
    )

    assert unread_picture(event) is is_picture
    assert unread_picture(event._replace(fields={**event.fields, "phase": "data_loading"})) is (
        attribute != "items"
    )
    assert not unread_picture(
        raised(
            event.fields["exception"],
            event.fields["message"],
            function=function,
            raised_in="/v/site-packages/x/y.py",
        )
    )


@pytest.mark.parametrize(
    ("exception", "message", "interleaved", "is_handshake"),
    [
        ("EOFError", "Ran out of input", True, True),
        ("EOFError", "Ran out of input", False, False),
        ("EOFError", "compressed file ended", True, False),
        ("ValueError", "Ran out of input", True, False),
    ],
)
def test_an_empty_pickle_among_frames_of_two_processes_is_the_pipe_between_them(
    exception, message, interleaved, is_handshake
):
    event = raised(exception, message, file="fit.py", raised_in="/v/torch/utils/data/dataloader.py")
    event = event._replace(fields={**event.fields, "interleaved": interleaved})

    assert handshake(event) is is_handshake


@pytest.mark.parametrize(
    ("within", "is_handshake"), [("starting_workers", True), ("remote_files", False), ("", False)]
)
def test_an_empty_pickle_while_workers_are_started_is_the_pipe_to_one_of_them(within, is_handshake):
    event = raised(
        "EOFError", "Ran out of input", file="fit.py", raised_in="/v/torch/utils/data/dataloader.py"
    )
    event = event._replace(fields={**event.fields, "within": within})

    assert handshake(event) is is_handshake
