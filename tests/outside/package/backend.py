"""Builds the wheel without any other package, so that the test needs no network."""

import base64
import hashlib
import tomllib
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
INFO = "acme_analyzer-1.0.dist-info"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """PEP 517."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    groups = project["entry-points"].items()
    files = {
        path.relative_to(HERE).as_posix(): path.read_bytes()
        for folder in ("acme_analyzer", "acme_rules")
        for path in sorted((HERE / folder).rglob("*"))
        if path.is_file()
    }
    files[f"{INFO}/METADATA"] = b"Metadata-Version: 2.1\nName: acme-analyzer\nVersion: 1.0\n"
    files[f"{INFO}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: acme\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    files[f"{INFO}/entry_points.txt"] = "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
        for group, points in groups
    ).encode()
    record = [
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}"
        for name, data in files.items()
    ]
    files[f"{INFO}/RECORD"] = "\n".join([*record, f"{INFO}/RECORD,,", ""]).encode()
    wheel = "acme_analyzer-1.0-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory, wheel), "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return wheel
