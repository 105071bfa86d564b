"""The command that started the run, as a shell shows it or as somebody pasted it above the log.

    + python train.py --lr 0.1 --optimizer sgd
    user@host:~/work$ CUDA_VISIBLE_DEVICES=0 python3 main.py --epochs 20
    !python train.py --batch-size 16
    Command: torchrun --nproc_per_node 8 train.py --bf16

Only the first of a log is read: what is called after it works on what the training left. A hint ("usage: python …") is none.
"""

from __future__ import annotations

from analyzer.ingest.text.log_line import LogLine, LogState, WritesAtOnce
from analyzer.lazy_regex import LazyRegex

_COMMAND = LazyRegex(
    r"^(?:\+{1,4} |[^\s$%#]{0,80}[$%#] |! ?|> |(?i:command|cmd|running|executing)(?: line)?: {0,2})?"
    r"(?P<command>(?:[A-Z][A-Z0-9_]{1,40}=\S{0,60} ){0,5}(?:[\w./-]{0,120}/)?(?:python[\d.]{0,6}|torchrun|accelerate launch) "
    r"(?:[\w.:/=-]{1,120} ){0,12}?[\w./-]{1,120}\.py [^\n]{0,200}?(?:--?[A-Za-z]|\w=)[^\n]{1,8000})$"
)

_NO_TRAINING = LazyRegex(
    r"(?i)\b(?:setup|prepare\w{0,20}|preprocess\w{0,20}|download\w{0,20}|convert\w{0,20}|demo|predict|infer\w{0,10})\.py "
)


class CommandLines(WritesAtOnce):
    """Reads the arguments of the command."""

    def feed(self, line: LogLine, log: LogState) -> bool:
        """See ``LineGrammar.feed``."""
        found = _COMMAND.match(line.text.rstrip())
        if found is None or _NO_TRAINING.search(found["command"]):
            return False
        if log.first("dump", "command"):
            from analyzer.ingest.formats.config.launch_script import read_command  # noqa: PLC0415  (few logs show one)

            read_command(found["command"], line.number, log.out)
        return True
