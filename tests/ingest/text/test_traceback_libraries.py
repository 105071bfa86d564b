"""Below which library's doing a traceback ended."""

import pytest
from log_reading import only, read_text

LOADER = "/v/lib/python3.10/site-packages/torch/utils/data/dataloader.py"
REMOTE = "/v/lib/python3.10/site-packages/fsspec/asyn.py"


@pytest.mark.parametrize(
    ("frames", "within"),
    [
        ([("fit.py", "main"), (LOADER, "__iter__"), (LOADER, "_get_iterator")], "starting_workers"),
        ([("fit.py", "main"), (LOADER, "__next__"), (LOADER, "_next_data")], None),
        ([("fit.py", "main"), (LOADER, "__iter__"), ("corpus.py", "__iter__")], None),
        ([("fit.py", "main"), (REMOTE, "_runner"), ("/v/lib/python3.10/site-packages/aiohttp/streams.py", "read")], "remote_files"),
        ([("fit.py", "main"), (REMOTE, "sync"), ("fit.py", "callback")], None),
    ],
)  # fmt: skip
def test_a_traceback_tells_below_which_librarys_doing_it_ended(frames, within):
    lines = [f'  File "{file}", line 9, in {function}\n    run()\n' for file, function in frames]
    text = "Traceback (most recent call last):\n" + "".join(lines) + "TimeoutError\n"

    assert only(read_text(text), "python_traceback").get("within") == within
