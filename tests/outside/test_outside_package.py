"""A package from outside, built and installed without a network, adds a reader and a rule pack by its entry points."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from analyzer.guard import OUR_FAULT, THEIR_FAULT

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder that the package is installed into."""
    folder = tmp_path_factory.mktemp("outside")
    shutil.copytree(HERE / "package", folder / "source")
    shutil.copytree(ROOT / "samples" / "pack", folder / "source" / "acme_rules")
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps",
         "--no-build-isolation", "--target", str(folder / "site"), str(folder / "source")],
        check=True, capture_output=True,
    )  # fmt: skip
    return folder / "site"


def test_its_reader_reads_its_rules_name_the_cause_and_what_is_missing_of_it_is_told(site, tmp_path):
    rows = "".join(f"{step} {3 - step / 20:.3f}\n" for step in range(1, 31))
    (tmp_path / "tracker.acme").write_text(
        f"acme-curves 1\n{rows}stagerd: tier fast is draining, write refused\n?\n", encoding="utf-8"
    )
    (tmp_path / "train.log").write_text(
        'Traceback (most recent call last):\n  File "train.py", line 8, in <module>\n    main()\n'
        "RuntimeError: the checkpoint was not written\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "analyzer", "diagnose", str(tmp_path), "-f", "json"],
        env={**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{ROOT}", "ANALYZER_GUARD": "on",
             "ANALYZER_CACHE_DIR": str(tmp_path / "cache")},
        check=True, capture_output=True, cwd=tmp_path,
    )  # fmt: skip
    found = json.loads(done.stdout)

    assert found["coverage"]["metrics"] == {"loss": 30}
    assert found["findings"][0]["cause"]["id"] == "acme-tier-draining"
    reasons = [gap["reason"] for gap in found["gaps"]]
    assert "not a step and a value" in reasons
    (gone,) = [r for r in reasons if r.startswith("reader gone (acme_analyzer.gone:Reader) failed")]
    assert THEIR_FAULT in gone
    assert OUR_FAULT not in "".join(reasons)
