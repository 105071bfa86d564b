"""What the wording of a line says of a course: its place, its quantities, and whether it is prose or a setting."""

from __future__ import annotations

from math import isnan

from analyzer.ingest.names import METRICS, canonical_metric
from analyzer.ingest.text.log_line import LogLine
from analyzer.ingest.text.rows.forms.row_forms import with_unit
from analyzer.ingest.text.rows.learned.asides import Aside, asides, best_so_far
from analyzer.ingest.text.rows.learned.line_fields import (
    Field,
    find_fields,
    is_metric,
    is_time,
)
from analyzer.ingest.text.rows.learned.line_masks import (
    FLOAT,
    INT,
    Masked,
    counted,
    in_english,
    may_be_foreign,
    sorts,
)
from analyzer.ingest.text.rows.learned.line_phases import (
    HELD_OUT_HEADING,
    held_out_fields,
    is_held_out_heading,
    mirrored,
    of_loading,
    part_told,
    phases_alone,
)
from analyzer.ingest.text.rows.learned.line_places import Place, find_place, rows_of, slot_at
from analyzer.ingest.text.rows.learned.quantities import (
    PLAIN,
    WORD,
    as_held_out,
    further_name,
    is_sign,
    is_speed,
    of_a_class,
    other_words,
    with_company,
    without_the_rest,
)
from analyzer.ingest.text.rows.learned.unnamed_columns import COLUMNS, RIGHT
from analyzer.ingest.text.rows.printed_numbers import parse_number
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import (
    RIVALS,
    is_running_mean,
    is_score,
    read_name,
    word_set,
    words_of,
)
from analyzer.record import NamedTuple, dataclass, field

MAX_OTHER_WORDS = 7
"""Words of a row that belong to no pair. "Epoch 3 finished in 12 s, average training loss: 0.5" has five."""

MAX_OTHER_WORDS_UNSEPARATED = 3
"""The same if names and numbers stand side by side, as in prose ("the loss 3 times")."""

MAX_PROSE = 24
"""The same of a row that begins with its place and a known quantity: such a wording counts once it repeats."""
STROKES_OF_A_ROW = 3
"""Strokes that part the cells of a row as surely as signs do."""

_CELLS = LazyRegex(rf"(?:, {{0,3}}[A-Za-z][\w/.@-]{{0,60}} {{1,3}}{FLOAT}(?=,|\s{{0,8}}$)){{3}}")
"""So do commas around three pairs of a name and a decimal: ``task a, loss 7.3, loss_a 5.5, loss_b 1.8``."""

_GLUED = LazyRegex(rf"\|\s{{0,3}}{INT}/{INT} \[[^\]]{{1,400}}\][^\s,|:;]")
_LOSSES = LazyRegex(
    rf"^Losses \{{|^\{{(?:'(?:ner|parser|tagger|textcat|tok2vec|spancat|morphologizer|lemmatizer|senter)': {FLOAT}(?:, |\}}$))+$"
)  # spaCy: the losses of its components, by their names
_HELD_OUT = LazyRegex(r"(?i)(?<![\w/.])(?:evl|val(?:(?!ua)[a-z]{1,5}tion|id(?:at(?:e|ing))?)?|eval(?:uation|uating)?|test(?:ing)?|dev|cv|h[eo]ld-?out)(?:set)?(?![\w/.])")  # fmt: skip
_TRAINING = LazyRegex(r"(?i)\btrain")
_NAMES_DATA = LazyRegex(
    r"(?i)\b(?:performance|results?|metrics|averaged?|stat(?:istic)?s|on|test|valid(?:ation)?|eval(?:uation)?|dev|set|data|split)\b"
)
_SUMS_UP = LazyRegex(rf"Saving dict for|^\s{{0,4}}\*{{1,2}} (?!(?i:pass|epoch|step|iter)\b)(?=[A-Za-z][\w@./-]{{0,20}}(?: -|:)? {{1,4}}[{INT}{FLOAT}])")  # fmt: skip
"""How estimators, and loops over ImageNet, sum up an evaluation: `` * Acc@1 76.13 Acc@5 92.86``."""
_NO_ROW = LazyRegex(
    r"(?i)^\W{0,4}(?:(?:warning: )?received an? |sav(?!ing dict for global)|load|resum|restor|(?:new )?best(?!\] \W{0,3}ep)|early|(?:accuracy|[\w-]{1,30}: {1,3}precision: .{1,90}) {1,3}\x02 {1,3}\x01 {0,3}$|checkpoint(?! ?\[)|warning|note|error(?! on | norm|s? ?[:=]\s{0,6}\x02(?:[,;|]|\s*$))|raise|assert|def |if |for |print|#+ ?(?!(?:epoch|step|iter))[a-z](?![^\x02]{0,120}\x02)|namespace\(|usage:|map(?: \(num_proc|:(?! {0,3}\x02 ?%? {0,3}(?:$|[,;|\]])))|filter(?: \(num_proc|:)|generating \w{1,20} split|running tokenizer|tokenizing |return |import |from |class \w{1,60}(?:\(|: {0,3}$)|(?:max|average|total requested|delta) memory :  [\x01\x02] [kmgt]b$|wandb: {1,60}[\w/.@-]{1,80} [\x01\x02]\s{0,4}$|err:\x01\] \W|memory usage: [\x01\x02](?:\+ [kmg]b| kb| bytes)\s{0,4}$)"
)
_BEST_ALONE = LazyRegex(
    rf"(?i)^\W{{0,8}}(?:new )?best[ _][\w ()@/.-]{{2,40}}?(?: so far)? ?[:=]?\s{{0,4}}{FLOAT} ?%?(?:,\s{{1,3}}best[ _][\w()@/.-]{{2,40}} {{0,9}}[:=]\s{{0,4}}{FLOAT} ?%?){{0,8}}(?:[ ,]{{0,2}}\(?(?:at |in |@ ?)?(?:epoch|step)[ :=]{{0,2}}{INT}\)?)?\W{{0,3}}$"
)
"""What tells the best of the rows before it, and nothing else: ``Best val acc: 0.5 (epoch 3)``, ``Best_acc: 0.5, Best_ED: 0.25``."""
_PAIR_ALONE = LazyRegex(rf"^\s{{0,8}}[A-Za-z][\w-]{{2,30}}\s{{1,30}}{FLOAT}\s{{0,8}}$")
"""A name and a number that have a line of their own: they need no sign."""
_SAVES = LazyRegex(r"(?i)^\W{0,4}sav(?:ed|ing),? (?!dict for global)")
_CODE = LazyRegex(
    r"\):$|[\w)\]] ?== ?[\w(\"']|\bself\.|\{[a-z_]{1,30}(?::[^\s{}]{0,8}\}|[.}])|Warning: |OVERFLOW!|Attempted loss scale|educing (?:loss scale|to)\b|\w\[\w{0,12}:|(?<!\x03[.,])%[.\d]{0,4}[dfs]\b"
    # the layers of a model, of which some are called after what they measure: "3 | criterion | CrossEntropyLoss | 0"
    r"|^\s{0,3}\x01 {1,2}\| [\w.]{1,60} {1,2}\| [A-Z]\w{1,60} {1,2}\| "
)
_INDENTED = LazyRegex(r"^(?:\s{1,40}|[>|│└├ ]{1,12}\s)\S")
# Words of home-made loops that mean something else in a tracker ("cost" in dollars)
_HOME_NAMES = {
    "cost": "loss",
    "avg_cost": "loss",
    "tot_loss": "total_loss",
    "accu": "accuracy",
    "tps": "tokens_per_second",
}
_UNITS = {"s": ("ms", "s"), "share": ("%",), "share or percent": ("%",), "GiB": ("MiB", "GiB", "MB", "GB", "MB"),
          "tokens/s": ("K", "M", "k"), "samples/s": ("K", "k")}  # fmt: skip
_LENGTHS, _MEANS = word_set("length len duration"), word_set("average avg mean running")
_SCORE, _OVER_ROWS = word_set("score scores"), word_set("total moving last final 100")
_EXPLORES = word_set("epsilon eps ε")
_SCORED = LazyRegex(r"(?i)score|loss|return|rew")
_GAME = LazyRegex(r"(?i)^\W{0,20}(?:ep|episodes?|games?)\b")
_EPISODE = LazyRegex(r"(?i)(?:^\W{0,20}|\| )(?:ep|episodes?|games?|trial)\b")


_SHORT_EPISODE = LazyRegex(r"(?i).?\bep\b")
"""The word for what is counted, which beside a reward is an episode: ``Ep: 10 | reward: -80.5``."""


class Where(NamedTuple):
    """Where in the run a line stands: at a step, or only somewhere in or at the end of an epoch."""

    step: int | None
    whole_epoch: bool = False


class Value(NamedTuple):
    """A number of a row that is kept."""

    slot: int  # which number
    name: str  # as printed
    unit: str  # printed after it
    over: int  # the number that it is a share of, -1 if none


@dataclass(slots=True)
class WordedRow:
    """What one row of a wording says: its place and its values."""

    place: Place
    values: list[Value]
    sure: bool  # it holds a quantity that shows that it is a row
    held_out: bool  # its words say that it is about held-out data
    words: int  # words that belong to no pair
    phased: bool  # a name, or a word before them, says whether it is about training or held-out data
    told: bool  # a name with a sign tells something else than speed and memory
    part: str = ""  # which part of the data held out its words say that it is about
    count: int = -1  # the number of what its values are means of, -1 if it tells none


@dataclass(slots=True)
class Template:
    """What a wording says; ``rows`` is empty for a line that says nothing of a course, ``columns`` a counter and a number."""

    rows: list[WordedRow] = field(default_factory=list)
    heading: Place | None = None
    held_out_heading: bool = False
    evaluates: bool = False  # the heading is that of an evaluation
    trains: bool = False  # it says that training follows
    indented: bool = False
    columns: bool = False
    counted: bool = False  # a word says what its first column counts
    right: bool = False  # the heading may be a share of samples
    bar: bool = False  # it is a progress bar that tells no quantity
    saves: bool = False  # it tells what was saved, and is a row only where the log has no other
    best: bool = False  # it tells nothing but the best of the rows before it
    program: str = ""  # who prints such rows, empty if many do
    # rows of names that are only well formed, until one more follows
    waiting: list[tuple[LogLine, dict[str, float], Where]] = field(default_factory=list)
    seen: int = 0
    idle: int = 0  # its lines since one of them was read


NOTHING = Template()
_FINAL = LazyRegex(rf"(?i)^(\W{{0,4}}epoch\W{{1,6}}{INT}(?:/{INT})?\s{{0,3}}[|,:;-]\s{{0,3}})final (?=[a-z])")
"""Behind the number of an epoch what it ended with is its own, and no memory of an earlier row: ``Epoch 3 | Final loss: 0.5``."""
_ANY_WORD = LazyRegex(
    r"(?i)loss|acc|epoch|\bep(?:\b|\d)|step|iter|\bit\b|\bup\b|epis|batch|cost|error|\berr|rew|return|score|ppl|perpl|entropy|grad|norm|\blr\b|learning|mse|nll|psnr|ssim|dice|eer\b|dcf|\bdsc|hd95|snr|sdr|srcc|plcc|prec(?:ision|\b)|recall|au(?:c|roc|pr)|iou|bleu|rouge|mrr|ndcg|(?:\b|_)(?:mae\b|f1|[wc]er\b|hit|kl|cmc|mcc\b|map(?:\b|\d)|fid(?:\b|\d)|top-?\d)|\bdev\b|\b[ul]as\b|rouge|meteor|spearman|pearson|"
    r"objective|\bf\(x|\bn[or]\. [\x01]|likelihood|elbo|updat|round|generation|^\W{0,8}(?:gen|pass|sweep)\b|cycle|^\W{0,3}t ?[=:]|[\x01]\]\[[\x01]|speed|sec\b|(?<!gpu[_ ])(?<!cuda[_ ])mem(?:ory)?\b|rss\b|\bram\b|\bd_?[ab]?(?:_?1)? ?[=:]|^\{'[a-z]|val\b|valid|test|tst\b|trn\b|train|eval|cls|[^\x00-\x7f]|#[\x01]|^ {0,8}[A-Za-z][\w-]{2,30} {1,30}\x01$|^(?:[\w ]{1,24}: {1,2})?[\w ./@()-]{1,30}[:=]\s{0,8}\x01%?(?:[,;|\s]{1,4}[\w ./@()-]{1,30}[:=]\s{0,8}\x01%?){0,24}\W{0,3}$|^[\W\x01]{0,48}$|^\W{0,3}[\x01][:/]|^\W{0,3}after \x01 frames\b|^ {0,8}(?:[a-z]\w{0,40} {1,3}\x01(?:, |\s{0,3}$)){2,12}$"
)


def may_be_row(key: str) -> bool:
    """Whether a wording holds any word that a row or its heading could not do without: most lines of a log hold none."""
    return _ANY_WORD.search(key) is not None or may_be_foreign(key)


def learn(masked: Masked) -> Template:
    """Work out what a wording says from one line of it."""
    text = _FINAL.sub(r"\1", in_english(sorts(masked)).replace(" :: ", " | "))
    if glued := _GLUED.search(text):
        text = text[: glued.end() - 1]  # what another writer printed past the end of a bar has no place
    if columns := COLUMNS.match(text):
        return Template(columns=True, counted=columns["word"] is not None)
    right = RIGHT.match(text) is not None
    saves = _SAVES.match(text) is not None
    best = _BEST_ALONE.match(text) is not None
    if (_NO_ROW.match(text) and not (saves or best)) or _CODE.search(text):
        return NOTHING
    rows = [row for begin, end in rows_of(text) if (row := _row(text, begin, end)) is not None]
    program = _PROGRAM.search(text) if rows else None
    template = Template(
        rows,
        indented=_INDENTED.match(text) is not None,
        saves=saves,
        best=best,
        program=(program and program.lastgroup) or "",
    )
    template.bar = _BAR_ALONE.search(text) is not None and not any(row.told or row.sure for row in rows)
    if saves:
        return template if any(row.sure and (row.place or row.held_out) for row in rows) else NOTHING
    if not rows:
        place = find_place(text)
        words = other_words(text, place, [found for found in find_fields(text, place.used) if is_time(found)])
        of_evaluator = place.epoch >= 0 and _OF_EVALUATOR.search(text) is not None
        plural = place.step >= 0 and _MANY.search(text) is not None and not of_evaluator
        most = MAX_HEADING_WORDS if _EVALUATES.match(text) is None else MAX_EVALUATION_WORDS
        if (
            place
            and not (place.samples or plural or _BATCHES_SET.match(text))
            and words <= (MAX_PROSE if of_evaluator else most)
            and not HELD_OUT_HEADING.match(text)
        ):
            template.heading = place
            template.evaluates = _HELD_OUT.search(text) is not None
            template.trains = not template.evaluates and _TRAINING.search(text) is not None
        template.right = right
        template.held_out_heading = is_held_out_heading(text)
    return template


_PROGRAM = LazyRegex(
    rf"(?P<deepspeed>\bsteps: {INT} loss: {FLOAT} iter time \(s\): )|(?P<marian> : Up\. {INT} : Sen\. )|(?P<nemo>\bTraining epoch {INT}, iteration {INT}/{INT} \|)"
    rf"|(?P<paddleocr>\bepoch: \[{INT}/{INT}\], (?:global_step|iter): {INT}, .{{0,999}}\bavg_reader_cost: )|(?P<icefall>, batch {INT}, (?:global_batch_idx: {INT}, )?(?:train_)?loss\[loss={FLOAT})|(?P<torchtune>^Step {INT} \| [a-z_/.]{{1,40}}:)"
)
"""Programs whose rows need no form, by what only they print."""
_BAR_ALONE = LazyRegex(rf"\|\s{{0,3}}{INT}/{INT} \[|^{INT}/{INT} \|")
_BATCHES_SET = LazyRegex(rf"(?i)^\W{{0,8}}batch(?:es)?\s{{0,3}}=\s{{0,3}}{INT}\W{{0,4}}$")  # how many, not which  # fmt: skip
_MANY = LazyRegex(r"(?i)\b(?:steps|iters|iterations|updates|batches|rounds|number of|num|total|max|warmup)\b")
_EVALUATES = LazyRegex(r"(?i)^\W{0,8}(?:eval(?:uat\w{1,3})?|valid\w{0,5}|test(?:ing)?)\b")
_OF_EVALUATOR = LazyRegex(
    rf"(?i)\bevaluat(?:ing|ion)\b.{{0,160}} (?:in|after) epoch {INT}(?: after {INT} steps)?:$"
)
"""Of which epoch an evaluation is, however many words it takes: ``Evaluating the model on sts-dev in epoch 2 after 500 steps:``."""
MAX_HEADING_WORDS, MAX_EVALUATION_WORDS = 3, 5
"""Other words of a heading: "Step 100 per-step time" and "Train - Epoch 3" have them; "Evaluation on dev at Epoch 3. Step: 900" more."""


def _row(text: str, begin: int, end: int) -> WordedRow | None:
    piece, first = text[begin:end], slot_at(text, begin)
    place = find_place(piece)
    prefix = "loss_" if _LOSSES.match(piece) else ""
    plain = [
        found._replace(name=prefix + found.name)
        for found in of_loading(piece, find_fields(piece, place.used))
    ]
    rewarded = any(canonical_metric(found.name) == "reward_mean" for found in plain)
    if rewarded and place.step < 0 and _SHORT_EPISODE.match(piece, max(place.start - 1, 0)):
        place = place._replace(step=place.epoch, epoch=-1)
    found_all = [_of_episode(found, piece, rewarded=rewarded) for found in plain]
    named = phases_alone(piece, found_all, counted=place.epoch >= 0)
    fields = [found for found in found_all if is_metric(found) or found in named]
    fields = with_company(piece, found_all, fields, place)
    fields = fields or (best_so_far(piece, place.used) if place or _BEST_ALONE.match(piece) else [])
    lone = fields[0] if len(found_all) == len(fields) == 1 and place.step >= 0 else None
    if lone is not None and lone.signed and lone.name.lower() in _TOTALS and FLOAT in piece[lone.start :]:
        fields = [lone._replace(name="total_loss")]  # "[epoch: 1/90, iter: 50/448] total: 1.25"
    fields = _phased(piece, of_a_class(piece, fields))
    times = [found for found in found_all if found not in fields and is_time(found)]
    if not (_values(fields) or _times_an_epoch(place, found_all, times)):
        return None
    values = _values([*fields, *times])
    names = [value.name for value in values]
    ahead = piece[: min((found.start for found in fields), default=0)]
    held_out = _is_held_out(piece, ahead, names)
    if held_out:
        values = [value._replace(name=as_held_out(value.name)) for value in values]
    signed = sum(found.signed for found in fields)  # no prose tells as many decimals as it has words
    separated = signed > 0 or piece.count("|") >= STROKES_OF_A_ROW or _CELLS.search(piece) is not None
    words = other_words(without_the_rest(piece, fields), place, found_all)
    words -= len(_NAMES_DATA.findall(ahead)) if held_out else 0
    known = any(is_sign(name) or ((place or held_out) and is_score(name)) for name in names)
    wordy = words > (max(MAX_OTHER_WORDS, signed) if separated else MAX_OTHER_WORDS_UNSEPARATED)
    begins = bool(place) and not WORD.search(ahead[: place.start])
    if wordy and not (known and separated and begins and words <= MAX_PROSE):
        return None
    told = _PAIR_ALONE.match(piece) is not None or any(
        (found.signed or read_name(found.name).quantity == "loss_like") and not is_speed(found.name)
        for found in fields
    )
    values = _with_asides(piece, first, place, values)
    phased = held_out or _TRAINING.search(ahead) is not None or any(read_name(name).phase for name in names)
    sure, part = known and not wordy, part_told(piece, ahead) if phased else ""
    count = next((found.slot + first for found in found_all if found.signed and found.name == "count"), -1)
    return WordedRow(_moved(place, first), values, sure, held_out, words, phased, told, part, count)


def _is_held_out(piece: str, ahead: str, names: list[str]) -> bool:
    """Whether all that a row tells is of held-out data."""
    kinds = {canonical_metric(name) for name in names}
    trained = "loss" in kinds or any(read_name(n).phase == "train" or RIVALS & {*words_of(n)} for n in names)
    if "eval_loss" in kinds and not trained:
        return True
    told = _HELD_OUT.search(ahead) is not None or _SUMS_UP.search(piece) is not None
    return told and _TRAINING.search(ahead) is None


def _with_asides(piece: str, first: int, place: Place, values: list[Value]) -> list[Value]:
    """The values with what is told beside them, counted from the first number of the line."""
    beside = asides(piece, place.used, [Aside(*value[:3]) for value in values])
    kept = [value for value in values if value.slot not in {aside.slot for aside in beside}]
    every = [*kept, *(Value(*aside, over=-1) for aside in beside)]
    return [value._replace(slot=value.slot + first, over=value.over + first if value.over >= 0 else -1) for value in every]  # fmt: skip


def _times_an_epoch(place: Place, fields: list[Field], times: list[Field]) -> bool:
    """Whether nothing but the time of a whole epoch is told: ``Epoch: 3 | Epoch Time: 29.04 s``."""
    return len(fields) == len(times) == 1 and times[0].signed and place.epoch >= 0 and place.step < 0


def _phased(text: str, fields: list[Field]) -> list[Field]:
    """Quantities with the phase in their names that is said once for several."""
    held_out, alike = held_out_fields(text, fields), mirrored([found.name for found in fields])
    return [
        found._replace(name=alike[found.name])
        if found.name in alike
        else found._replace(name=as_held_out(found.name))
        if found.slot in held_out and not (found.unit not in {"", "%"} or is_speed(found.name))
        else found
        for found in fields
    ]


def _of_episode(found: Field, piece: str, *, rewarded: bool) -> Field:
    """Length, score and nameless mean in the row of an episode are the episode's: ``Episode 10  Average length: 31.3  Avg: -80.5``.

    Beside a reward or score they count something else.
    """
    words = set(words_of(found.name))
    nameless = bool(words) and words <= _MEANS and found.signed and not rewarded
    if nameless and _GAME.search(piece) and not _SCORED.search(piece):
        return found._replace(name="episode_reward")
    if words == {"steps"} and _EPISODE.search(piece) is not None:
        return found._replace(name="episode_length")
    if words and words <= _EXPLORES and (rewarded or (found.signed and _EPISODE.search(piece) is not None)):
        return found._replace(name="exploration_rate")
    if not rewarded and words & _SCORE and words <= _SCORE | _MEANS | _OVER_ROWS and _GAME.search(piece):
        return found._replace(name=f"episode_{found.name}")
    of_it = bool(words & _LENGTHS) and words <= _LENGTHS | _MEANS and _EPISODE.search(piece) is not None
    return found._replace(name="episode_length") if of_it and found.signed else found


def _moved(place: Place, by: int) -> Place:
    step, total, epoch = (slot + by if slot >= 0 else -1 for slot in (place.step, place.total, place.epoch))
    return place._replace(
        step=step, total=total, epoch=epoch, used=frozenset(slot + by for slot in place.used)
    )


def _values(fields: list[Field]) -> list[Value]:
    """Of several names for one quantity the plainest; values whose unit does not fit their name are left out."""
    found: dict[str, Value] = {}
    parts: str = ""
    losses = [entry for entry in fields if _is_like_loss(entry.name)]
    others = [entry for entry in fields if entry.name.lower() not in _TOTALS]
    called = any(read_name(entry.name).quantity == "loss" and read_name(entry.name).whole for entry in losses)
    called = called or any(_OF_ANSWERS & set(words_of(entry.name)) for entry in others)
    total = len(losses) >= PARTS_OF_TOTAL or (len(others) >= PARTS_OF_TOTAL and not called)
    for entry in fields:
        name = _HOME_NAMES.get(entry.name.lower(), entry.name)
        if name.lower() in _TOTALS:
            if not total or not entry.signed or entry.unit:
                continue
            name = "total_loss"
        if name.lower() in {"dt", "step"} and entry.unit:
            name = "step_time_s"
        if name.lower() in {"val", "valid", "validation", "test", "eval"} and parts:
            name = f"{name}_{parts}"  # "loss train: 2.5, val: 2.25"
        reading = read_name(name)
        if reading.phase == "train" and reading.quantity in PLAIN:
            parts = reading.quantity
        canonical = canonical_metric(name)
        if entry.unit == "%" and canonical in METRICS and METRICS[canonical].unit == "s":
            name = canonical = f"{name}_share"  # of a time
        if entry.unit and not _fits(canonical, entry.unit):
            continue
        value, old = Value(entry.slot, name, entry.unit, entry.over), found.get(canonical)
        if old is not None and canonical not in METRICS and not read_name(name).quantity:
            # of several parts of a row that call it alike
            value = value._replace(name=further_name(name, found))
            found[value.name] = value
            continue
        if old is not None:
            value, old = (value, old) if _plainer(name, old.name) else (old, value)
            if canonical in _TWICE:
                name = old.name if old.name != value.name else f"{old.name}_2"
                found[name] = old._replace(name=f"part/{name}")
        found[canonical] = value
    return sorted(found.values())


_TWICE = frozenset(
    {
        "loss",
        "eval_loss",
        "accuracy",
        "eval_accuracy",
        "perplexity",
        "eval_perplexity",
        "grad_norm",
        "reward_mean",
    }
)
"""Of two of these in one row both are kept, the second as a part: a step's and its epoch's or episode's, validation and test."""


_TOTALS = frozenset({"total", "sum"})
_OF_ANSWERS = word_set("correct right wrong hits")
"""Beside a number of answers the total is that of all answers: ``Total: 400, Correct: 300, Accuracy: 75 %``."""
PARTS_OF_TOTAL = 2
"""Losses beside a number called "total" that make it the total loss; other quantities, if nothing there is called the loss."""


def _is_like_loss(name: str) -> bool:
    return read_name(name).quantity in {"loss", "loss_like", "policy_loss", "value_loss"} or name.lower() in {
        "policy",
        "value",
        "reg",
        "kl",
        "kld",
    }


def _plainer(name: str, old: str) -> bool:
    """Whether a name is the plainer one of two for a quantity; the reward of an episode is none of a step."""
    if is_running_mean(name) != is_running_mean(old):
        return is_running_mean(old)
    tests, validates = (("test" in words_of(text), "val" in text.lower()) for text in (name, old))
    if (tests, validates) in {((True, False), (False, True)), ((False, True), (True, False))}:
        return validates == (True, False)  # beside a validation a test is one more part
    if {words_of(name)[-1], words_of(old)[-1]} == {"step", "epoch"}:
        return (words_of(name)[-1] == "epoch") == (read_name(name).phase == "eval")
    of_all, other = ("total" in words_of(text) for text in (name, old))
    if of_all != other and {name.lower(), old.lower()}.isdisjoint({"loss", "train_loss"}):
        return of_all
    episode, other = ("epi" in text.lower() or "ep_" in text.lower() for text in (name, old))
    return episode if episode != other and "rew" in name.lower() else len(name) < len(old)


def _fits(canonical: str, unit: str) -> bool:
    if canonical in {"loss", "eval_loss"}:
        return unit == "%"  # some print all they measure so
    if canonical in METRICS:
        return unit in _UNITS.get(METRICS[canonical].unit, ())
    return unit in {"%", "s", "ms", "MB", "GB", "MiB", "GiB"}


def is_whole(place: Place, numbers: list[str]) -> bool:
    """Whether the numbers that say where a row stands are whole numbers that can be a step."""
    slots = [slot for slot in (place.step, place.total, place.epoch) if slot >= 0]
    return all(0 < len(counted(numbers[slot])) <= MAX_DIGITS for slot in slots)


def is_within_epoch(place: Place, numbers: list[str]) -> bool:
    """Whether a row stands at a part of an epoch, ``epoch 0.25``, which is no step of its own."""
    return place.step < 0 <= place.epoch and numbers[place.epoch].replace(".", "", 1).isdecimal()


MAX_DIGITS = 15
"""Digits of a step; longer numbers are garbage."""


def read_values(row: WordedRow, numbers: list[str]) -> dict[str, float]:
    """The values of a row by name, in the units that their names have here."""
    found: dict[str, float] = {}
    of_none = row.count >= 0 and counted(numbers[row.count]) == "0"  # of which every mean is NaN
    for slot, name, unit, over in row.values:
        number = parse_number(numbers[slot].rstrip("x"))
        if number is None or (of_none and isnan(number)):
            continue
        number = float("nan") if abs(number) == 2.0**63 else number  # what a NaN becomes as an integer
        if over >= 0:
            whole = parse_number(numbers[over])
            if not whole or not (read_name(name).quantity == "accuracy" or words_of(name)[-1:] == ("rate",)):
                continue
            number /= whole
        if unit:
            if not (number >= 0 or (number < -100 and canonical_metric(name).endswith("accuracy"))):
                continue  # "nanms" is a time that nobody measured, "mfu -100%" a placeholder
            number = (
                number
                if canonical_metric(name).endswith("accuracy")
                else with_unit(number, unit.replace("k", "K"))
            )
        found[name] = number
    return found
