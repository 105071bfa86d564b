r"""What trainers announce before they start: sizes, versions, GPUs.

    ***** Running training *****
      Num examples = 1,000
      Num Epochs = 3
      Total optimization steps = 375
    ==((====))==  Unsloth 2024.10.7: Fast Llama patching. Transformers = 4.46.0.
       \\   /|    GPU: Tesla T4. Max memory: 14.748 GB. Platform = Linux.
    O^O/ \_/ \    Pytorch: 2.5.0+cu121. CUDA = 7.5. CUDA Toolkit = 12.1.
    \        /    Bfloat16 = FALSE. FA [Xformers = 0.0.28. FA2 = False]

All of it is configuration as the run itself states it. What such lines look like stands in ``banners.yaml``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from analyzer.ingest.text.log_line import LogLine, LogState, WritesAtOnce
from analyzer.ingest.text.setup.json_block import scalar
from analyzer.lazy_regex import LazyRegex
from analyzer.model.config import ConfigScalar
from analyzer.record import NamedTuple
from analyzer.vocabulary import cache
from analyzer.vocabulary.marked import MarkedFile
from analyzer.vocabulary.sections import check_expression, check_section

FIELDS: Mapping[str, Mapping[str, tuple[str, bool]]] = {
    "file": {"banners": ("list", True)},
    "banner": {"in": ("str", False), "key": ("str", False), "regex": ("str", True), "program": ("str", False), "value": ("scalar", False)},
}  # fmt: skip
_FILE = Path(__file__).with_name("banners.yaml")
_PIECES = {
    "${COUNT}": r"(?P<count>\d[\d,]{0,18})",
    "${VERSION}": r"v?(?P<version>\d{1,4}(?:\.\d{1,6}){1,3}[\w.+-]{0,24})",
}


class Banner(NamedTuple):
    """One announcement; see ``banners.yaml``."""

    regex: LazyRegex
    key: str
    framework: str
    program: str
    value: ConfigScalar


def read_banners(file: MarkedFile) -> list[list[Any]]:
    """Check a loaded file of banners: of each the fields of ``Banner``.

    Raises:
        RuleSyntaxError: It is not as declared; with line and column.
    """
    found = []
    for place, item in enumerate(check_section(file, FIELDS, "file", file.data, ())["banners"]):
        row = check_section(file, FIELDS, "banner", item, ("banners", place))
        regex = row["regex"]
        for piece, stands_for in _PIECES.items():
            regex = regex.replace(piece, stands_for)
        check_expression(file, regex, "banners", place, "regex")
        found.append([regex, *(row.get(key, "") for key in ("key", "in", "program")), row.get("value")])
    return found


@lru_cache(maxsize=1)
def banners() -> tuple[Banner, ...]:
    """All banners, in the order in which they are read."""
    rows = cache.checked_file("banners", _FILE, read_banners, str(FIELDS), str(_PIECES))
    return tuple(Banner(LazyRegex(regex), *others) for regex, *others in rows)


class Banners(WritesAtOnce):
    """Reads announcements; a line may hold several."""

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        found = False
        for banner in banners():
            match = banner.regex.search(line.text if banner.regex.pattern.startswith("^") else line.raw)
            if match is not None:
                _write(banner, match, line, log)
                found = True
        return found


def _write(banner: Banner, match: re.Match[str], line: LogLine, log: LogState) -> None:
    groups = match.groupdict()
    if banner.program:
        log.out.framework(banner.program)
    gpus, world_size = (int(groups[name]) if groups.get(name) else None for name in ("gpus", "world_size"))
    if gpus is not None or world_size is not None or groups.get("gpu_name"):
        log.out.layout(gpu_name=groups.get("gpu_name"), gpus=gpus, world_size=world_size, line=line.number)
    key, value, raw = groups.get("key") or banner.key, banner.value, None
    if "count" in groups:
        raw = groups["count"]
        value = int(raw.replace(",", ""))
        if key == "max_steps" and value > 0:
            log.total_steps = value
        elif key == "num_train_epochs":
            log.epochs = float(value)
    elif "version" in groups:
        value = groups["version"].rstrip(".")
        if not log.first("version", key, groups["version"]):
            return
    elif "value" in groups:
        value = scalar(groups["value"])
    elif isinstance(value, str):
        raw = match[0]
    if key:
        log.out.config(key, value, framework=banner.framework, layer="runtime_echo", line=line.number, raw=raw)  # fmt: skip
