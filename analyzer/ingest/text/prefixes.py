"""What launchers and loggers put in front of a line: peeled off, and what it says kept.

    "3: [rank3]:[2023-04-18 01:46:52,554] [INFO] [engine.py:1:step] [Rank 3] OVERFLOW!"
    -> text "OVERFLOW!", rank 3, time 1681782412.554

Peeling repeats until nothing changes, so its result has no prefix left. A time without a zone is taken
as UTC: the log does not name its zone, and only differences between times are used.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date as calendar_date
from functools import lru_cache

from analyzer.ingest.scalar_text import json_object
from analyzer.lazy_regex import compiled
from analyzer.record import dataclass


@dataclass(slots=True)
class Peeled:
    """A line without its prefixes."""

    text: str  # the message
    rank: int | None = None  # global rank; None if no prefix names it
    host: str = ""  # host name, empty if none is named
    time_s: float | None = None  # Unix seconds, None if unknown
    stream: str = ""  # ``stdout`` or ``stderr`` as a container runtime says, else empty
    logger: str = ""  # name of the logger or ``file:line`` of the call, else empty
    level: str = ""  # level name in upper case, else empty


_LEVEL = r"(?P<level>DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)"
_DATE = r"(?:(?P<date>\d{4}[-/]\d\d[-/]\d\d|\d\d/\d\d/\d\d(?:\d\d)?)[ T_]|\d\d/\d\d-)(?P<clock>\d\d:\d\d:\d\d)(?:[.,](?:(?P<fraction>\d{1,9})|%f))?"
_ZONE = r"(?P<zone>Z|[+-]\d\d:?\d\d)?"
_INDENTED = r"(?=  File \"|  (?:time|host|rank|exitcode|error_file|traceback) {0,12}: | {4,60}\S)"
"""A frame of a traceback, its line of code, or an entry of torchrun's report: the indentation tells what it is and stays."""
_MESSAGE = rf"(?=\S|{_INDENTED})"

# Each is tried at the position reached so far; the first characters that can begin it come first.
_FORMS: tuple[tuple[str, str], ...] = (
    ("[", r"\[rank(?P<rank>\d{1,6})\]:\s?"),
    ("[", r"\[(?:default|trainer|worker)\d{1,4}\]:\s?"),
    # mpirun --tag-output: [1,3]<stderr>:message, since Open MPI 5 [prterun-node-a-77@1,3]<stderr>: message
    ("[", r"\[(?:[\w.-]{1,120}@)?\d{1,6},(?P<rank>\d{1,6})\]<(?P<stream>stdout|stderr)>: ?"),
    ("[", r"\[pod/(?P<host>[\w.-]{1,120})/[\w.-]{1,80}\] "),  # kubectl logs --prefix
    ("#", r"#\d{1,4} \d{1,6}\.\d{1,4} (?=\S)"),  # docker build: step, seconds
    ("`", r"`{1,3}(?=[A-Za-z\d\[{][^`]{1,4000}$)"),  # the mark of code before the first line that was copied
    ("[", r"\[(?P<host>[\w.-]{1,64}):(?:worker|launcher)-\d{1,4}\]:?\s?"),
    # DeepSpeed: [date time,ms] [INFO] [file.py:12:function] [Rank 0] message
    ("[", rf"\[{_DATE}\] \[\s*{_LEVEL}\s*\] (?:\[(?P<logger>[^\]\s]{{1,120}})\] ?)?(?:\[Rank (?P<rank>-?\d{{1,6}})\] )?"),
    # kur, sockeye: [INFO 2026-01-01 00:00:00,000 kur.model.executor:175] message, [INFO:sockeye.training] message
    ("[", rf"\[{_LEVEL}[: ](?:{_DATE} )?(?P<logger>[\w.]{{1,80}}(?::\d{{1,6}})?)\] ?"),
    # monobeast: [INFO:7 train:90 2026-01-01 00:00:00,000] message
    ("[", rf"\[{_LEVEL}:\d{{1,9}} (?P<logger>[\w.]{{1,80}}:\d{{1,6}}) {_DATE}\] ?"),
    # Hydra: [date time,ms][logger][INFO] - message
    ("[", rf"\[{_DATE}\]\[(?P<logger>[\w.]{{1,80}})\]\[{_LEVEL}\] - "),
    # Rust's env_logger: [2026-01-01T00:00:00Z INFO  crate::module] message
    ("[", rf"\[{_DATE}{_ZONE} {_LEVEL} {{1,2}}(?P<logger>[\w:.-]{{1,80}})\] ?"),
    # NeMo: [NeMo I 2024-09-28 19:46:49 file:12] message
    ("[", rf"\[NeMo [A-Z] {_DATE} (?P<logger>[\w.]{{1,80}}:\d{{1,6}})\] ?"),
    # transformers: [INFO|trainer.py:912] 2021-05-25 06:53:45,862 >> message
    ("[", rf"\[{_LEVEL}\|(?P<logger>[\w.]{{1,80}}:\d{{1,6}})\] {_DATE} >>\s?"),
    # LLaMA-Factory: [INFO|2026-04-06 21:32:29] llamafactory.hparams.parser:511 >> message
    ("[", rf"\[{_LEVEL}\|{_DATE}\] (?P<logger>[\w.]{{1,80}}:\d{{1,6}}) >>\s?"),
    # glog and torch: [E1003 18:37:01.832146912 File.cpp:607] message (no year, so no time)
    ("[", r"\[[EWIF]\d{3,4} \d\d:\d\d:\d\d\.\d{1,9} (?P<logger>[\w./-]{1,120}:\d{1,6})\] ?"),
    ("[", r"\[titan\] "),
    ("[", rf"\[{_LEVEL}\]:?[ \t]{{0,2}}(?=\S)"),
    # semseg, BertSum: [2026-01-01 00:00:00,000 INFO train.py line 356 31012] message
    ("[", rf"\[{_DATE} {_LEVEL}(?: (?P<logger>[\w./-]{{1,80}})(?: line \d{{1,6}})?(?: \d{{1,9}})?)?\] ?"),
    # PaddleDetection, whose date has no year: [01/01 00:00:00] ppdet.engine INFO: message
    ("[", rf"\[\d\d/\d\d \d\d:\d\d:\d\d\] (?P<logger>[\w.]{{1,80}}) {_LEVEL}: "),
    # the name of a thread: [MainThread] INFO name.of.logger - message
    ("[", rf"\[[\w-]{{1,40}}\] {_LEVEL} {{1,2}}(?P<logger>[\w.$]{{1,80}}) - "),
    ("[", rf"\[{_DATE}\](?: [-|] (?=\S)|\s?{_MESSAGE})"),
    (" ", rf" \[{_DATE}\] (?=iteration )"),  # Megatron
    ("EWIF", r"[EWIF]\d{3,4} \d\d:\d\d:\d\d\.\d{1,9} +\d{1,20} (?P<logger>[\w./-]{1,160}:\d{1,6})\] ?"),
    # Kaldi: LOG (nnet3-train[5.5.0]:Print():nnet-training.cc:325) message
    ("VL", r"(?:VLOG\[\d{1,2}\]|LOG) \((?P<logger>[^\s]{1,200}:\d{1,6})\) "),
    # Colab: Jan 12, 2026, 3:46:13 PM | WARNING | message
    ("JFMASOND", rf"[A-Z][a-z]{{2}} \d{{1,2}}, \d{{4}}, \d{{1,2}}:\d\d:\d\d [AP]M \| {_LEVEL} \| ?"),
    # Google Cloud: ERROR 2026-08-03T18:49:56.385503426Z [resource.labels.containerName: x] message
    ("DEINWCA", rf"(?:{_LEVEL}|DEFAULT|NOTICE|ALERT) {_DATE}{_ZONE} \[resource\.labels\.[^\]]{{1,120}}\] ?"),
    # Kubernetes and CRI: 2026-01-01T00:00:00.123456789Z stdout F message
    ("0123456789", rf"{_DATE}{_ZONE} (?P<stream>stdout|stderr) [FP] "),
    # fairseq and loguru: date | INFO | logger | message
    ("0123456789", rf"{_DATE} ?\| {{0,8}}{_LEVEL} {{0,8}}\| ?(?P<logger>[\w.:<>/-]{{1,120}}) [|-] "),
    # mmengine, torchtitan and friends: date - logger - INFO - message, or date - INFO - logger - message
    ("0123456789", rf"{_DATE} - (?P<logger>[\w.]{{1,80}}) - {_LEVEL} - "),
    ("0123456789", rf"{_DATE} — (?P<logger>[\w.]{{1,80}}) — {_LEVEL} — "),
    # the place of the call: date - train.py[line:103] - INFO: message, date - src/train.py:103 - INFO - message
    ("0123456789", rf"{_DATE}(?: -)? (?P<logger>[\w./\\][\w./\\-]{{0,119}}(?:\[line:\d{{1,6}}\]|:\d{{1,6}})?)(?: -)? {_LEVEL}(?: -|:)\s{{1,4}}"),
    ("0123456789", rf"{_DATE} - {_LEVEL} - (?P<logger>[\w.<>]{{1,80}}) -\s{{1,4}}"),
    # date - train.py[line:12] - INFO: message; a logger may be named like a file
    ("0123456789", rf"{_DATE} - (?P<logger>[^\s\[\]]{{1,200}}(?:\[line:\d{{1,6}}\])?) - {_LEVEL}(?::| -) ?"),
    ("0123456789", rf"{_DATE}{_ZONE} {_INDENTED}"),  # a collector's time before an indented traceback
    ("0123456789", rf"{_DATE}{_ZONE}[ :|-]{{0,3}}\s(?=\S)"),
    # AReaL: 20260101-00:00:00.000 StatsLogger INFO: message
    ("0123456789", rf"\d{{8}}-\d\d:\d\d:\d\d\.\d{{3}} (?P<logger>[\w.]{{1,80}}) {_LEVEL}: "),
    # RecBole: 12 Nov 21:13    INFO  message, Fri 31 Mar 2026 09:46:40 INFO message
    ("0123456789MTWFS", rf"(?:[A-Z][a-z]{{2}} )?\d{{1,2}} [A-Z][a-z]{{2}} (?:\d{{4}} )?\d\d:\d\d(?::\d\d)? {{1,6}}{_LEVEL} {{1,6}}"),
    ("0123456789", r"\d{1,7}(?:\.\d{1,3})?s\t\d{1,8}\t"),  # Kaggle: seconds, sequence number
    # srun --label; darknet and CatBoost begin their rows with the number of the batch in the same way
    ("0123456789 ", r" {0,5}(?P<rank>\d{1,5}): (?!\S{1,20}, \S{1,20} avg|\s{0,8}learn\b)(?=.)"),
    ("(", r"\(Elapsed: \d[\d:.]{3,12}\) (?=\S)"),  # how long it runs, behind the time
    ("(", rf"\((?P<logger>[\w.]{{1,80}}:\d{{1,6}})\) {_LEVEL}: "),  # ESPnet: (asr_train:292) INFO: message
    # the place of the call behind a date in words: Sat, 03 Nov 2018 16:39:48 train.py[line:227] INFO message
    ("MTWFS", rf"[A-Z][a-z]{{2}}, \d{{1,2}} [A-Z][a-z]{{2}} \d{{4}} \d\d:\d\d:\d\d (?P<logger>[\w./-]{{1,120}}\[line:\d{{1,6}}\]) {_LEVEL}:? "),
    # the place of the call alone: main.py[line:231] INFO message
    ("", rf"(?P<logger>[\w./-]{{1,120}}\.py\[line:\d{{1,6}}\]) {_LEVEL}:? "),
    # ctime: Wed Apr  8 21:25:58 2026 message
    ("MTWFS", r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d (?:[A-Z]{3,4} )?\d{4}[ :|-]{0,3}\s(?=\S)"),
    ("(", r"\((?:[\w.]{1,60} )?pid=\d{1,9}(?:, ip=(?P<host>[\d.]{7,15}))?\) ?"),  # Ray
    # Ray's own daemons, SkyPilot: its rank is that of the node
    ("(", r"\((?:raylet|autoscaler|head|worker\d{1,4})(?:, rank=\d{1,6})?(?:, pid=\d{1,9})?(?:, ip=(?P<host>[\d.]{7,15}))?\) "),
    ("DEINWCF", rf"{_LEVEL}:(?P<logger>[\w.][\w.-]{{0,79}}):"),  # logging.basicConfig
    ("P", rf"P\d{{1,9}} {_LEVEL} (?=\S)"),  # logging with P%(process)d
    # XLM and what was made of it: INFO - 06/24/20 23:34:05 - 0:00:46 - message
    ("DEINWCF", rf"{_LEVEL} - {_DATE} - (?:\d{{1,4}} days?, )?\d{{1,3}}:\d\d:\d\d - "),
    ("DEINWCF", rf"{_LEVEL}(?: : ?|[ :]\s{{0,8}})(?=\S)"),
    # docker compose: service, number, bar
    ("", r"(?P<host>(?!(?:step|epoch|iter|iteration|batch|rank|phase|stage)-)[a-z][\w.]{0,40}-\d{1,4}) {1,20}\| (?=.)"),
    ("", rf"(?P<host>(?:node|host|dgx|hgx|nid|cn|gn|compute|worker|server|master|slave|instance)[a-zA-Z0-9.]{{0,40}}\d): {_MESSAGE}"),  # pdsh, clush
    # hosts that a file of hosts names by their address, and the machine itself
    ("0123456789", rf"(?P<host>\d{{1,3}}(?:\.\d{{1,3}}){{3}}): {_MESSAGE}"),
    ("l", rf"(?P<host>localhost): {_MESSAGE}"),
    # pdsh and deepspeed --launcher: host name that ends in a number
    # and no score, whose number stands behind it: "BLEU-4: 0.5"
    ("", rf"(?P<host>(?!(?:step|epoch|iter|iteration|batch|rank|phase|stage)-)(?!(?i:bleu|rouge|hits?|hr|recall|prec(?:ision)?|[fpr]|top|ndcg|mrr|map|acc|loss|dice|iou|class|task)-\d{{1,3}}: {{1,4}}-?\d)[a-zA-Z][a-zA-Z0-9.]{{0,40}}-\d{{1,5}}): {_MESSAGE}"),
)  # fmt: skip


@lru_cache(maxsize=256)
def _matchers(start: str) -> tuple[Callable[[str, int], re.Match[str] | None], ...]:
    """The forms that can begin with a character, compiled when such a line is first met."""
    is_letter = start.isascii() and start.isalpha()
    return tuple(
        compiled(form).match for starts, form in _FORMS if (start in starts if starts else is_letter)
    )


_DAY_ONE = calendar_date(1970, 1, 1).toordinal()


@lru_cache(maxsize=64)
def _day_s(date: str) -> int | None:
    if date[2] in "/-":  # month first, as American loggers write
        month, day, year = date[:2], date[3:5], f"20{date[6:]}"[-4:]
    else:
        year, month, day = date[:4], date[5:7], date[8:]
    try:
        first_day = calendar_date(int(year), int(month), 1).toordinal() - _DAY_ONE
        return (first_day + int(day) - 1) * 86_400
    except (ValueError, OverflowError):
        return None


def _time_s(groups: dict[str, str | None]) -> float | None:
    date, clock = groups.get("date"), groups.get("clock")
    if not date or not clock or not date.isascii() or not clock.isascii():
        return None
    day_s = _day_s(date)
    if day_s is None:
        return None
    seconds = int(clock[:2]) * 3600 + int(clock[3:5]) * 60 + int(clock[6:8])
    fraction = groups.get("fraction")
    zone = groups.get("zone")
    if zone and zone != "Z":
        offset_s = int(zone[1:3]) * 3600 + int(zone[-2:]) * 60
        seconds -= offset_s if zone[0] == "+" else -offset_s
    return day_s + seconds + (float(f"0.{fraction}") if fraction else 0.0)


def unix_time(text: str) -> float | None:
    """Unix seconds of a date and time at the start of a text; None if there is none.

    >>> unix_time("2023-12-08_15:29:15"), unix_time("2023-12-08T15:29:15+01:00"), unix_time("N/A")
    (1702049355.0, 1702045755.0, None)
    """
    stamp = _stamp()(text)
    return _time_s(stamp.groupdict()) if stamp else None


@lru_cache(maxsize=1)
def _stamp() -> Callable[[str], re.Match[str] | None]:
    return compiled(_DATE + _ZONE).match


def _container_line(text: str) -> Peeled | None:
    r"""One line of Docker's json-file driver: {"log":"text\n","stream":"stderr","time":"..."}."""
    record = json_object(text)
    if record is None or not isinstance(record.get("log"), str):
        return None
    return Peeled(
        text=record["log"].rstrip("\r\n"),
        time_s=unix_time(str(record.get("time", ""))),
        stream=str(record.get("stream", "")),
    )


def _note(peeled: Peeled, groups: dict[str, str | None]) -> None:
    """Keep what a prefix says; the first time, host and stream and the innermost rank and logger win."""
    rank = groups.get("rank")
    if rank is not None and int(rank) >= 0:
        peeled.rank = int(rank)
    peeled.host = peeled.host or groups.get("host") or ""
    peeled.stream = peeled.stream or groups.get("stream") or ""
    peeled.logger = groups.get("logger") or peeled.logger
    peeled.level = groups.get("level") or peeled.level
    if peeled.time_s is None:
        peeled.time_s = _time_s(groups)


def peel(text: str) -> Peeled:
    """Take the prefixes off a line.

    >>> peel("[default0]:12/08/2023 15:29:15 - INFO - __main__ -   {'loss': 1.5}")
    Peeled(text="{'loss': 1.5}", rank=None, host='', time_s=1702049355.0, stream='', logger='__main__', level='INFO')
    """
    container = _container_line(text) if text.startswith('{"log":') else None
    peeled = container or Peeled(text)
    text = peeled.text
    position = 0
    while position < len(text):
        for match_at in _matchers(text[position]):
            match = match_at(text, position)
            if match and match.end() > position:
                _note(peeled, match.groupdict())
                position = match.end()
                break
        else:
            break
    if position:
        peeled.text = text[position:]
    if container and peeled.text.startswith('{"log":'):  # a container in a container
        inner = peel(peeled.text)
        inner.time_s = peeled.time_s if inner.time_s is None else inner.time_s
        inner.stream = inner.stream or peeled.stream
        return inner
    return peeled
