"""How a line that reports a failure is worded: as a warning, as something that is passed over, as a report about others."""

from __future__ import annotations

from analyzer.lazy_regex import LazyRegex

GOES_ON = LazyRegex(
    r"(?i)\b(?:retrying|will retry|skipp(?:ed|ing)\b(?! step)|ignor(?:ed|ing)|falling back|fall back|going on|continuing|attempting to recover"
    r"|proceeding without|halving|restart(?:ed|ing)|respawning)\b|; using\b"
)
"""Words of a program that met a failure and goes on, on the line that reports it."""

DATA = LazyRegex(
    r'(?i)^\W{0,3}(?:prompt|question|answer|input|sample|text|src|source|query|instruction)(?: \d{1,9}| text)?"?\s?[:=|]'
)
"""How a line begins that shows input or output of the program, whatever it contains."""

OF_OTHERS = LazyRegex(
    r"(?:CalledProcessError|ChildFailedError|Process(?:Raised|Exited)Exception|BrokenPipeError|ConnectionResetError|EOFError|Ray\w{0,20}Error"
    r"|ActorDiedError|Dist\w{1,20}Error|SystemExit|KeyboardInterrupt|SignalException)$"
)
"""Exceptions by which one process reports that another ended, or that somebody ended it."""

WARNING = LazyRegex(
    r"\b\w{0,40}Warning: |^\W{0,3}W(?:\d{4})? |: W (?:tensorflow|external)/|\bWARN(?:ING)?\b|^\s{0,40}(?:warnings\.)?warn\("
    r"|failed call to cuInit: "
)
"""How a line is written that its author took for a warning, or that is the code of one; without a device TensorFlow goes on."""

OF_THE_PLATFORM = LazyRegex(
    r"(?i)cuda|cudnn|cublas|gpu|nccl|driver|librar|symbol|import|module|dll|kernel|device|convolution|version|extension|backend|compil"
)
"""Words of an exception that a warning about a library, a device or a driver may have announced."""

BELOW_ERROR = LazyRegex(
    r"^(?:.{0,120}?[\s\[|:-])?(?P<level>DEBUG|INFO|WARN(?:ING)?)[\]\s|:-](?!.{0,80}\bERROR\b)"
)
"""A record of a logger whose level says that it is no error."""
