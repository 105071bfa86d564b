"""What stands around the lines of a table and is none of their cells, the names that a cell of a head holds, and what one of a row shows."""

from __future__ import annotations

from analyzer.ingest.text.rows.learned.line_masks import in_english
from analyzer.ingest.text.rows.printed_numbers import parse_number
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import is_score, read_name, says_no_quantity

# The bar of a table that shows how far the run is before each row, xLearn's: "[   10%      ]     1   0.25", and stars around a head.
_BAR_AHEAD = LazyRegex(r"^\[[-=># ]{0,20}(?:\d{1,3}% {0,20}|-{3,20})[-=># ]{0,20}\](?= )")
_STARS = LazyRegex(r"^\s{0,4}\*{3,40} ?(?=\w[^*]{8,300}\*{3,40}\s{0,4}$)|(?<=\w) ?\*{3,40}\s{0,4}$")


_NORM = LazyRegex(r"\|\|(\w{1,12})\|\|")


def unframed(text: str) -> str:
    """A line of a table with blanks in place of the bar before it, without the stars that set a head off, and with words for norms.

    >>> unframed("[   10%      ]     1   0.25"), unframed("[1] 0.25")
    ('                   1   0.25', '[1] 0.25')
    >>> unframed("***train_loss,valid_loss***"), unframed("a *** b"), unframed("||dx||  ||grad||")
    ('train_loss,valid_loss', 'a *** b', 'dx_norm  grad_norm')
    """
    if "||" in text:
        text = _NORM.sub(r"\1_norm", text)
    if not (text.startswith("[") or "***" in text):
        return text
    return _STARS.sub("", _BAR_AHEAD.sub(lambda match: " " * len(match[0]), text))


def is_columned(text: str) -> bool:
    """Whether what stands in a line is parted as columns are.

    >>> is_columned("Time,Train loss,Test loss"), is_columned("loss,acc"), is_columned("the loss, the time, and"), is_columned("a,b c")
    (True, True, False, False)
    """
    bare = text.strip()
    tight = bare.count(",") > 1 and ", " not in bare
    return "|" in text or "\t" in text or "  " in bare or ("," in bare and (" " not in bare or tight))


SHARE_AHEAD = "Step (% Done) "
"""The first column of the tables of nerfstudio, whatever the others are."""

# Of "t[m:s]" the "[m" goes with the colours of terminals.
_UNIT = LazyRegex(r"(?:\[[a-z:/]{1,8}|:[a-z]{1,4})\]$")
_BETWEEN_VALUES = LazyRegex(r"(?<=\d|%)\s?/\s?(?=-?\d{1,9}\.\d)")


_GROUPS = frozenset({"rewards", "logps", "logits", "completions", "sampling", "clip_ratio"})
"""What TRL's notebooks show as ``rewards / chosen`` is one name."""
_GLUED_PHASE = LazyRegex(r"(?<=^Train)(?=[A-Z])|(?<=^Valid)(?=[A-Z])|(?<=^Test)(?=[A-Z])")
"""Between the word for a part of the data and what was measured: ``TrainDeviance``."""


def names_in(cell: str) -> list[str]:
    """The name in a cell of a head, without signs and units; two, where one cell heads two columns.

    >>> names_in("Val Loss"), names_in("min&max std"), names_in("valid_loss/acc"), names_in("mse_t / mse_v"), names_in("train/loss")
    (['val_loss'], ['min_std', 'max_std'], ['valid_loss', 'valid_acc'], ['mse_t', 'mse_v'], ['train/loss'])
    >>> names_in("rewards / format_reward"), names_in("ITER:")
    (['rewards/format_reward'], ['iter'])
    """
    name = _UNIT.sub("", _GLUED_PHASE.sub("_", in_english(cell).strip()).lower()).replace(
        "step (% done)", "step"
    )
    name = name.removesuffix(" (time)") if name.startswith("eta") else name.replace(" (time)", " time")
    first, _, last = (part.strip() for part in name.partition("/"))
    if last and first in _GROUPS:
        return [f"{first}/{last}".replace(" ", "_")]
    measured = last and all(part and (read_name(part).quantity or is_score(part)) for part in (first, last))
    if measured or (" / " in name and first[:-1] == last[:-1] and first.isidentifier()):
        of, _, _ = first.rpartition("_")
        return [first.replace(" ", "_"), f"{of}_{last}" if of and last.isalnum() else last.replace(" ", "_")]
    name = name.replace(" ", "_")
    first, both, last = name.partition("&")
    of = last.partition("_")[2]
    name = name.removesuffix(":")  # "ITER:", above rows that begin "9:"
    return [f"{first}_{of}", last] if both and of else [name.lstrip("#%").lstrip("_") or name]


def parted(row: str) -> str:
    """A row whose cells hold two values each as one of single values: ``0.5 / 0.25``."""
    return _BETWEEN_VALUES.sub("  ", row)


_OF_PLAYS = {"maxr": "best_reward", "avgr": "avg_reward", "stdr": "std_reward", "avgs": "avg_episode_length", "stds": "std_episode_length",
             "expr": "exp_reward", "objc": "critic_loss", "obja": "actor_objective"}  # fmt: skip


def of_plays(names: tuple[str, ...]) -> tuple[str, ...]:
    """The columns of ElegantRL, which end in a letter for rewards or steps, by what they are.

    >>> of_plays(("id", "step", "maxr", "avgr", "objc")), of_plays(("step", "expr"))
    (('id', 'step', 'best_reward', 'avg_reward', 'critic_loss'), ('step', 'expr'))
    """
    return tuple(_OF_PLAYS.get(name, name) for name in names) if {"maxr", "avgr"} <= {*names} else names


def with_phases(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names of columns that end in the letters of two phases, with the phases.

    >>> with_phases(("epoch", "loss_t", "loss_v", "x_t")), with_phases(("loss_t", "loss"))
    (('epoch', 'train_loss', 'val_loss', 'x_t'), ('loss_t', 'loss'))
    """
    both = {name[:-2] for name in names if name.endswith("_t") and f"{name[:-2]}_v" in names}
    phases = {"_t": "train", "_v": "val"}
    return tuple(
        f"{phases[name[-2:]]}_{name[:-2]}" if name[-2:] in phases and name[:-2] in both else name
        for name in names
    )


def is_measured(name: str) -> bool:
    """Whether a column is a loss, an accuracy or a reward.

    >>> is_measured("validation/main/loss"), is_measured("loss_weight"), is_measured("time")
    (True, False, False)
    """
    reading = read_name(name.replace("main/", ""))
    return reading.quantity in _MEASURED and not reading.setting


_MEASURED = frozenset({"loss", "accuracy", "perplexity", "reward_mean", "loss_like"})


def optimised(names: tuple[str, ...], text: str, counters: frozenset[str]) -> list[str]:
    """What a search prints of each round, whatever it measures: ``gen nevals avg std min max``, ``iter fevals function_value``."""
    told = [name for name in names if name in _STATISTICS]
    if names[0] == "step" and text.lstrip().startswith(SHARE_AHEAD):
        return list(names[1:])
    if names[:2] == ("n_gen", "n_eval"):  # pymoo, which counts in the columns that begin alike
        return [name for name in names[2:] if not name.startswith("n_")]
    if names[0] in ROUNDS and len(told) > 1:
        return told
    return [name for name in names[1:] if _OBJECTIVES.search(name)] if names[0] in counters else []


ROUNDS = frozenset({"gen", "n_gen", "generation"})
_STATISTICS = frozenset({"avg", "mean", "median", "std", "min", "max"})
_OBJECTIVES = LazyRegex(r"(?:^|_)(?:function_value|f\(x\)|fval|objf|fitness)(?:_|$)|^target$|^log_prob$")


ALIKE = LazyRegex(
    r"^[^|\d]{2,80}\|\s{1,3}(?P<name>[A-Za-z]\w{1,20})\b[^|]{0,80}\|\s{1,3}(?P=name)\b[^|]{0,80}(?:\||$)"
)
"""A head with two groups that follow each other and begin with the same name."""

_CELL = LazyRegex(r"[^\s|]+(?: [^\s|]+)*")
_RESULTS_FOR = LazyRegex(r"(?i)\bresults? (?:for|of|on) (\w{2,20}):?\s*$")


def is_called(name: str, quantity: str, phase: str) -> bool:
    """Whether the name of a column is that of a quantity on some part of the data.

    >>> is_called("test_loss", "loss", "eval"), is_called("loss", "loss", "eval")
    (True, False)
    """
    reading = read_name(name)
    return (reading.quantity, reading.phase) == (quantity, phase)


def phase_above(before: str) -> str:
    """The phase that a lone word right above a head says: ``validation``."""
    above = before.rstrip("\r\n").rpartition("\n")[2].rpartition(" | ")[2].strip(" :=-").lower()
    return read_name(above).phase if above.isalpha() and says_no_quantity(above) else ""


def result_above(before: str) -> str:
    """What a line above a head says that was evaluated: ``Evaluation results for segm:``."""
    found = _RESULTS_FOR.search(before.rstrip("\r\n").rpartition("\n")[2])
    return f"{found[1]}_" if found else ""


GROUPS = 2
"""Groups that are called by a phase."""


def grouped(above: str, text: str) -> tuple[tuple[str, ...], tuple[tuple[int, int], ...]]:
    """The names of the columns of a head, and the place of each; none if the line above names no groups of it.

    >>> above, text = "      |-- VALID --|-- TRAIN --|-----|", "epoch | loss  err  | loss  err  | time"
    >>> grouped(above, text)[0], grouped(text, text)
    (('epoch', 'valid_loss', 'valid_err', 'train_loss', 'train_err', 'time'), ((), ()))
    """
    groups = [
        group.strip(" -=").lower().partition("/")[0] for group in above.rstrip().removesuffix("|").split("|")
    ]
    phases = [group if read_name(group).phase and says_no_quantity(group) else "" for group in groups]
    more = text.rstrip().removesuffix("|").count("|") + 1 - len(groups)
    if more < 0 or len(set(phases) - {""}) < GROUPS:
        return (), ()
    phases += [""] * more
    found = list(_CELL.finditer(text))
    names = (
        f"{phases[text.count('|', 0, match.start())]}_{match[0]}".strip("_").lower().replace(" ", "_")
        for match in found
    )
    return tuple(names), tuple(match.span() for match in found)


OTHERS = frozenset(
    {"time", "dur", "elapsed", "elapsed_time", "eta", "cp", "secs", "seconds", "epoch_time", "batch", "runtime", "remaining_time", "trial_name", "status", "ts", "total_time_(s)", "loc", "cpu_wps", "gpu_wps", "evals", "nevals", "n_eval", "n_nds", "fevals", "f-count", "func-count", "t", "time_left", "id"}
)  # fmt: skip
OF_NONE = "valid_deviance"
"""What gbm prints as NaN in each row where no data are held out, which is its default."""
OF_DEPTH = frozenset({"silog", "abs_rel", "sq_rel", "log_rms", "rmse_log", "log10"})
"""Errors of depths, by the names that all who estimate these print."""
UPDATES = "total_train_updates"
"""What counts in the tables of ParlAI, whose columns stand in the order of the alphabet."""
EPOCHS = frozenset({"epoch", "epochs", "e", "itn", "round", "ep"})
_COUNT = LazyRegex(
    r"^(?:(?:epoch|ep|step|iter|iteration)[ :#]{0,2})?(?P<at>\d{1,12})(?P<rest>\.\d{1,6})?(?:/(?P<of>\d{1,12})| \(\d{1,3}\.\d\d%\))?$"
)
ABOUT = "\u7ea6~\u2248\u2191\u2193*%"
"""Marks beside a number: about, better, worse, the best so far, percent."""


_MARKED = LazyRegex(r"(?<=\d) [^\w\s.%]$")
"""A mark behind a number and a blank: that it fell, rose or stayed."""
_WITH_UNIT = LazyRegex(r"^(\d{1,6}\.\d{1,6}) (ms|[KM])$")
_UNITS = {"ms": 1e-3, "K": 1e3, "M": 1e6}


def number_in(cell: str) -> float | None:
    """What a cell shows, of a time seconds; a list of one number shows that number.

    >>> number_in("[0.5]"), number_in("29.069 ms"), number_in("138.35 K"), number_in("57 s, 206.101 ms"), number_in("2.5 -")
    (0.5, 0.029069, 138350.0, None, 2.5)
    """
    bare = _MARKED.sub("", cell.strip(ABOUT)).removesuffix(" dB")
    if measured := _WITH_UNIT.match(bare):
        return round(float(measured[1]) * _UNITS[measured[2]], 9)
    return parse_number(bare if "," in bare else bare.strip("[]"))


def running(epoch: int | None, cell: str, step: int | None) -> int | None:
    """The step since the start, of a counter such as ``80/165`` that begins anew in each epoch."""
    match = _COUNT.match(cell.strip(ABOUT).lower())
    length = int(match["of"]) if match and match["of"] else 0
    return step if epoch is None or step is None or not length else epoch * length + step


_POWER = LazyRegex(r"^\d\.\d{1,8}[eE]\+?\d{1,2}$")


def count_in(name: str, cell: str) -> int | None:
    """What a counter shows; only epochs may be broken, as "0.5" of one.

    >>> count_in("step", "20.0"), count_in("step", "2.05e+03"), count_in("step", "0.5"), count_in("epoch", "0.5")
    (20, 2050, None, 0)
    """
    if _POWER.match(cell.strip()):
        return int(float(cell)) if float(cell).is_integer() else None
    match = _COUNT.match(cell.strip(ABOUT).lower().removesuffix(":"))
    if match is None or ((match["rest"] or "").strip(".0") and name not in EPOCHS):
        return None  # a frame shows whole numbers as "20.0"
    return int(match["at"])


def counts_broken(name: str, cell: str) -> bool:
    """Whether a counter of steps shows a part of one, ``0.5*``.

    >>> counts_broken("iter", "0.5*"), counts_broken("iter", "1.0"), counts_broken("epoch", "0.5")
    (True, False, False)
    """
    match = _COUNT.match(cell.strip(ABOUT).lower())
    return match is not None and name not in EPOCHS and bool((match["rest"] or "").strip(".0"))


_UNNAMED = LazyRegex(
    r"(?i)(?:eta:? ?\d[\d.:]{0,20} ?[a-z]{0,4}|\d{1,9}(?:\.\d{1,9})? ?(?:ms|s|secs?|m|mins?|h)|\d{1,3}(?::\d\d){1,2}|best)?\W{0,3}"
)
"""Cells behind those that a head names: how long the row took, what is left, a mark."""


def between_strokes(row: str, named: int) -> list[str]:
    """The cells of a row with strokes, without times and marks behind those that its head names.

    >>> between_strokes(" 3 | 0.5 | 151.8s | ETA 2019.0m *", 2), between_strokes("3 | 0.5 | 0.25", 2)
    (['3', '0.5'], ['3', '0.5', '0.25'])
    """
    cells = [cell.strip() for cell in row.strip().strip("|").split("|")]
    return cells[:named] if all(map(_UNNAMED.fullmatch, cells[named:])) else cells
