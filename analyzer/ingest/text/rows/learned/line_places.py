"""Where a row says that it stands: its step, epoch and batch, found in masked text (``line_masks``)."""

from __future__ import annotations

import re
from itertools import pairwise

from analyzer.ingest.text.rows.learned.line_masks import FLOAT, INT, TIME, counted
from analyzer.lazy_regex import LazyRegex
from analyzer.record import NamedTuple

_AT = rf"(?:/(?:total|max|num)[ _]?\w{{0,12}})?[\"'\]\u2019\u201d)]?\s{{0,3}}(?::|=>|->|[=#\[(]|: ?[\[(=]){{0,2}}\s{{0,3}}[\"'#]?(?:{INT}\s?-\s{{0,4}})?(?P<at>{INT})(?:\s{{0,3}}(?:/|of|out of)\s{{0,3}}(?P<total>{INT}))?(?!\w|%|\.[\w{INT}{FLOAT}]|[{INT}{FLOAT}]|\({FLOAT}\))"
_BEFORE = rf"(?:^|(?<=[\s\[\](|,{{;:\"'.<>/@{TIME}])|(?<=---|===|\*\*\*|###))(?<!number of )(?<!total )(?<!num )(?<!max )(?<!per )(?<!every )(?<!episode )(?<!warmup )"
_STEP = LazyRegex(
    rf"(?i){_BEFORE}(?P<word>(?:completed |(?:global|local|current|learner|actor)[ _]?|train(?:ing)?[ _]|optim\w{{0,6}}[ _]|env[ _]|epoch/)?"
    rf"(?:total[ _](?:env[ _])?(?:time)?steps|time[ _]?steps?|steps?|iter(?:ation)?s?|it(?:e|r)?|n(?:um)?_updates|num_timesteps|n?updates?|up|(?<=global_)t|t_env|i(?= ?[=:] ?{INT} ?/)))(?:\.| at| n[or]\.?|(?<!s)_(?:idx|index|num|id|no|i))?(?![A-Za-z0-9]){_AT}"
)
_BATCH = LazyRegex(
    rf"(?i)(?:^|(?<=[\s\[(|,{{;:\"'.>-]))(?P<word>(?:mini[ _-]?|super)?batch(?:es)?|episodes?|mb|ticks?|rounds?|gen|generations?|sweeps?|pass(?= {{1,2}}{INT})|cycles?|snapshots?)(?:[ _](?:idx|index|number|num|id|no|i))?(?![A-Za-z0-9]){_AT}"
)
_AMOUNTS = LazyRegex(r"(?i)\b(?:train|val|valid|test)\w{0,7} (?:steps|iters|iterations)\b")
_EPOCH = LazyRegex(
    rf"(?i){_BEFORE}(?P<word>epochs?|epcoh|epoh|ep|e)(?:\.| n[or]\.?|[ _](?:idx|index|num|id|no))?(?![A-Za-z0-9]){_AT}"
)
_EPOCH_FLOAT = LazyRegex(
    rf"(?i)(?<!over )(?<!per )(?<!of )(?<!for )(?<!the )(?<!this )(?<!/)\bepochs?\s{{0,3}}[:=]?\s{{0,3}}{FLOAT}"
)
# A number before its word: "200/ 2983 batches", "100 steps", "batch 100 of epoch 1".
_OF_EPOCH = LazyRegex(
    rf"(?i)^(?:train|valid|val|test|infer)\w{{0,8}} \((?P<epoch1>{INT})/{INT}\)|\bepoch/iter: ?(?P<epoch2>{INT})/(?P<step>{INT})"
)
# The counter of a bar: " 10%|#  | 10/100 [", of which only the strokes are left; copied from a notebook, not even these: "10% 10/100 [".
_BAR = LazyRegex(
    rf"(?:\|\s{{0,3}}(?P<step1>{INT})/(?P<total1>{INT})(?= \[| {TIME})|(?<={INT}%) {{1,2}}(?P<step2>{INT})/(?P<total2>{INT})(?= \[{TIME}<))"
)
_AHEAD = LazyRegex(rf"\| ?step {INT}: ?\|")  # the step that a bar is titled with
_STEPS_AFTER = LazyRegex(
    rf"(?i)(?:^|(?<=[\s\[(|,;-]))(?P<at>{INT})(?:\s{{0,2}}/\s{{0,2}}(?P<total>{INT}))? (?P<word>batches|steps|iters|iterations|updates|step)(?=[ ,|;)\]:]|$)"
)
_IN_EPOCH = LazyRegex(
    rf"\[ ?(?P<epoch>{INT})(?:/{INT})? {{0,4}}\]\s{{0,3}}\[ {{0,2}}(?P<step>{INT}) {{0,4}}/ {{0,2}}(?P<total>{INT})\s{{0,2}}(?:\([^)]{{0,6}}\))?\]"
)
_BRACKETS = LazyRegex(
    rf"^\s{{0,40}}(?:>{{1,3}} |\[{TIME}\] )?\[ {{0,6}}(?:[Tt]rain(?:ing)?:? |#)?(?:(?P<epoch>{INT})(?:, {{1,2}}|: {{0,2}}| - ))?(?P<step>{INT})(?:/ {{0,3}}(?P<total>{INT})(?:,? {{1,2}}\(?[{INT}{FLOAT}]%\)?)?)?\](?=:?\s{{0,3}}\S)(?!\[[Ee]p)"
)
_NUMBERED = LazyRegex(rf"\[{INT}\]:?\s{{1,3}}(?P<word>[A-Za-z]\w{{0,30}})")
_LEADING = LazyRegex(
    rf"^(?:(?:\s{{0,3}}[{INT}{FLOAT}]% )?\((?P<step1>{INT}) ?/ {{0,2}}(?P<total1>{INT})\)|(?:.{{0,40}} - )?\((?P<epoch2>{INT}), (?P<step2>{INT})\)(?= {{0,3}}\S)|(?:\[[A-Za-z][\w-]{{0,20}}\] )?(?P<step3>{INT})/(?P<total3>{INT})(?= ?[(\[,:|]| = [{INT}{FLOAT}]%| {{1,3}}(?:[-\u00b7] )?['\"<]?[A-Za-z]|\t)"
    rf"|#(?P<step4>{INT})(?=[ :,])|(?P<step5>{INT})(?::\s{{1,3}}|\t)(?=[A-Za-z])|(?P<step16>{INT}) - (?=[a-z][\w ]{{0,30}}: )| {{0,8}}(?P<step6>{INT}) {{1,4}}(?=\[[A-Za-z]|- {{1,3}}[{INT}{FLOAT}] [A-Za-z]{{1,12}}/|\|\s{{1,4}}(?:- )?['\"<\[]?[A-Za-z])|(?:\S{{1,40}} {{1,2}})?(?:[Tt]rain|[Tt]est|[Vv]al(?:id)?|[Ee]val) (?P<step8>{INT}),(?= )|[itknjs] ?[=:] ?(?P<step7>{INT})(?=[\s,;|])|T ?[=:] ?(?P<step14>{INT}) ?/ ?(?P<total14>{INT})(?= ?[,;|])|\u2502 {{1,4}}[itknjs] = (?P<step13>{INT})$|[<(@] {{0,6}}(?P<step9>{INT})[>)]?(?=\s)|>(?P<step12>{INT}),(?=\s)|(?:[Vv]al|[Ee]val|[Tt]est)[a-z]{{0,7}} @ {{0,2}}(?P<step10>{INT})(?=[:,;|\s])|[Ii]nd(?:e)?x (?P<step15>{INT})(?=[,:]\s)|(?P<step11>{INT}),?\s{{1,4}}(?=[A-Za-z][\w./-]{{0,30}} ?[:=] {{0,3}}{FLOAT}))"
)
_RATIO_FIRST = LazyRegex(rf"^\s{{0,8}}(?P<step>{INT})/(?P<total>{INT}): ")
_FROM_ZERO = LazyRegex(r"\bEpoch: ?\[$")
_OF_BEST = LazyRegex(r"(?i)\(best[^()]{0,40}$")  # when the best was: "PSNR: 28.5 (Best: 29.5 @epoch 7)"
_IN_PARENTHESES = LazyRegex(rf"\]\((?P<step>{INT})/(?P<total>{INT})\)")
_SAMPLES = LazyRegex(
    rf"(?i)\bepoch: ?{INT} {{1,2}}\[ {{0,2}}{INT}/ {{0,2}}{INT} ?\( {{0,2}}{INT}%\)\]|(?:^|\) )progress {INT} (?:sequences|utterances|sentences|frames)\b"
)
# Samples that the run has come to, which is all that some programs count.
_SEEN = LazyRegex(
    rf"(?i)(?:^|\) |- )(?:after|processed|done) \[?(?P<at1>{INT})\]? (?:sequences|utterances|sentences|frames|pairs|samples|examples|words|documents)\b"
    rf"|^\s{{0,8}}(?:instance|example|sample|sentence|word) ?[:=] {{0,3}}(?P<at2>{INT})(?=[;,|])"
    rf"|^\s{{0,8}}\[ {{0,12}}(?P<at4>{INT}) (?:eps|episodes|games|frames|samples)\](?= )"
)
_NUMBER_OF = LazyRegex(
    rf"(?i)(?:^\W{{0,8}}|[\]:-] )number of (?P<word>iterations?|(?:time)?steps|updates) {{0,3}}[:=] {{0,3}}(?P<at>{INT})(?=[ ,;|]{{1,4}}[A-Za-z][\w ]{{0,30}}[:=] {{0,3}}{FLOAT})"
)
"""How many of them there were, where a row goes on behind it: ``Number of iteration : 500 CIDEr : 0.5``."""
_BATCHES = LazyRegex(
    rf"(?i)^train\w{{0,8}}: ?(?P<epoch>{INT}) \[ {{0,2}}(?P<step>{INT})/ {{0,2}}(?P<total>{INT}) ?\( {{0,2}}{INT}%\)\]"
)
# The epoch and, side by side with it, the batch: "epoch 010  2000 / 8223 loss=", "Epoch 3 [100/500]", "Epoch 1/9, 5/20:"
_BESIDE_EPOCH = LazyRegex(
    rf"(?i)\bep(?:och)?s?\.?[ :#]{{0,3}}\[?(?P<epoch>{INT})(?:/{INT})?\]?(?:(?:\s{{0,2}}[|,:-])?\s{{1,3}}[\[(]?|\[)\s{{0,2}}(?P<step>{INT}) ?/ {{0,2}}(?P<total>{INT})(?![\w.{INT}{FLOAT}%])(?! ?\()"
)
# The same of a logger of meters, which estimates what is left: "Training  [  40/5000]  eta: 3 days, 20:36:05"
_BEFORE_REST = LazyRegex(
    rf"^[^\[\]{INT}{FLOAT}{TIME}]{{0,40}}\[ {{0,8}}(?P<step>{INT})/ {{0,8}}(?P<total>{INT})\] {{1,3}}eta: "
)
_AFTER_EPOCHS = LazyRegex(rf"(?i)^\W{{0,3}}(?:[^\]]{{1,20}}\] )?after (?P<epoch>{INT}) epochs?(?=[,:])")
_SHARE = LazyRegex(
    rf"(?i)\b(?:process|progress|processed|done|trained|end of (?:split|chunk|shard))(?: on)?[: ]{{1,2}}(?P<step>{INT}) ?/ ?(?P<total>{INT})(?=[ (,:])"
)
_EPOCH_AHEAD = LazyRegex(rf"\[(?P<epoch>{INT})/{INT}\] {{0,2}}$")
"""Two counters in a row, of which the second is named: ``[1/70] Step: 50/259``."""
_SAMPLE = LazyRegex(rf"(?i)^\W{{0,12}}(?:img|image|sample|example) (?:no|nr)\. (?P<at>{INT})\W{{0,12}}$")
"""The sample that a training has come to, on a line of its own: ``Img no. 300``."""
_AFTER = LazyRegex(
    rf"^(?:train|eval|valid|test)\w{{0,7}}(?: stats)? after (?P<at>{INT})(?: examples| samples)?(?=: )"
)
"""How many samples were seen before what follows, which may count its updates as well: ``eval after 4000: {'loss/eval': 0.5}``."""
_LENGTH = LazyRegex(rf"\b[Ee]poch: ?{INT}, Steps: ?(?P<at>{INT}) \| ")

_RANKS = ("global", "updates", "update", "step", "up", "iter", "it")
"""Words for steps, the surest first: where a row names both a step and an iteration, the step counts updates."""
_OF_RUN = _RANKS.index("step")
_VALUE = LazyRegex(rf"[:=]\s{{0,3}}[{INT}{FLOAT}]")
_OF_EPISODE = LazyRegex(rf"[:=]\s{{0,3}}[{INT}{FLOAT}]|\b[a-z_]{{3,20}} {FLOAT}")
_LASTED = LazyRegex(
    r"(?i)\b(?:truncat|terminat|end|finish|done|crash|fail|complet|solv|died|dead|lost|won)\w{0,4} (?:at|after|in) $"
)
_RATE = LazyRegex(
    rf"(?i)(?:\bepoch\s?[:=]\s{{0,3}}{INT}[,;]\s{{1,3}})?(?<![a-z])(?:lr|learning[ _]rate)\s?[:=]\s{{0,3}}[{INT}{FLOAT}]"
)


class Place(NamedTuple):
    """Which numbers of a row say where it stands; -1 where none does."""

    step: int = -1  # number of the step, or of the batch
    total: int = -1  # how many of them there are
    epoch: int = -1  # number of the epoch
    # whether counting begins again at each epoch and the row states its length (``[epoch][batch/total]``)
    begins: bool = False
    from_zero: bool = False  # such a row is of a kind that counts its epochs from 0 (``Epoch: [0][10/100]``)
    # the row counts samples, so that its place is within its epoch but at no known step
    samples: bool = False
    used: frozenset[int] = frozenset()  # numbers that say where the row stands, in any way
    start: int = 0  # where the first of them stands in the text

    def __bool__(self) -> bool:
        return self.step >= 0 or self.epoch >= 0 or self.samples

    def takes_for_epoch(self, numbers: list[str]) -> bool:
        """Whether what stands beside a step is no epoch, as a first row made believe: ``episode: 1, e: 1.0`` below ``episode: 0, e: 1``."""
        return (
            min(self.step, self.epoch) >= 0
            and not counted(numbers[self.epoch])
            and bool(counted(numbers[self.step]))
        )


def slot_at(text: str, position: int) -> int:
    """Which number of masked text stands at a position."""
    return sum(text.count(sort, 0, position) for sort in (INT, FLOAT, TIME))


def find_place(text: str) -> Place:
    """Where a masked line says that it stands."""
    epochs = [match for match in _EPOCH.finditer(text) if not _OF_BEST.search(text, 0, match.start())]
    used = {slot for match in epochs for slot in _slots(text, match)}
    used |= {slot_at(text, match.end() - 1) for match in _EPOCH_FLOAT.finditer(text)}
    if not epochs and (after := _AFTER_EPOCHS.match(text)):
        return Place(epoch=slot_at(text, after.start("epoch")), used=frozenset(_slots(text, after)))
    start = min((match.start() for match in epochs), default=len(text))
    found = Place(epoch=_slot(text, epochs[0], "at") if epochs else -1, used=frozenset(used), start=start)
    return _in_an_epoch(text, found) or _by_its_word(text, found)


def _in_an_epoch(text: str, found: Place) -> Place | None:
    """A place that a row states by its form alone, whatever the words in it."""
    if match := _IN_EPOCH.search(text):
        from_zero = _FROM_ZERO.search(text, 0, match.start() + 1) is not None
        return _with(text, found, match)._replace(begins=True, from_zero=from_zero)
    if match := _OF_EPOCH.search(text):
        return _with(text, found, match)
    if match := _BESIDE_EPOCH.search(text):
        return _with(text, found, match)._replace(begins=True)
    if (match := _BAR.search(text)) and not _AHEAD.search(text, 0, match.start() + 1):
        return _with(text, found, match)._replace(begins=found.epoch >= 0)
    if match := _SAMPLES.search(text):
        return found._replace(samples=True, used=found.used | _slots(text, match))
    if match := _SAMPLE.match(text) or _AFTER.match(text):
        return _with(text, found, match)
    if match := _LENGTH.search(text):
        return found._replace(used=found.used | _slots(text, match))
    return None


def _by_its_word(text: str, found: Place) -> Place:
    """A place that a row names: its step before its batch, and the surest of several words for a step."""
    batches = [match for match in _BATCH.finditer(text) if not _is_amount(text, match)]
    steps = sorted(_steps(text, batches), key=_rank)
    used = {slot for match in (*steps, *batches) for slot in _slots(text, match)}
    found = found._replace(used=found.used | used)
    leading = _RATIO_FIRST.match(text) if not steps else None
    if leading is None and batches and FLOAT in text[: batches[0].start()]:
        leading = _BRACKETS.match(
            text
        )  # behind the values stands how large a batch is: "[10/900] loss 0.5 | batch 16"
    named = steps or ([leading] if leading else batches)
    chosen = named[0] if named else _other_form(text)
    if chosen is None:
        return found
    # A batch out of so many is counted in its epoch; a step out of so many may be one of the whole run.
    out_of = chosen.groupdict().get("total") is not None
    if out_of and found.epoch < 0 and (ahead := _EPOCH_AHEAD.search(text, 0, chosen.start())):
        epoch, placed = slot_at(text, ahead.start("epoch")), _with(text, found, chosen)
        return placed._replace(epoch=epoch, begins=True, used=placed.used | _slots(text, ahead))
    return _with(text, found, chosen)._replace(begins=out_of and found.epoch >= 0 and chosen in batches)


def _is_amount(text: str, match: re.Match[str]) -> bool:
    """Whether batches are told behind the values of a row: how many there were, not which one it is."""
    plural = match["word"].lower().endswith("batches") and match["total"] is None
    return plural and _VALUE.search(text, 0, match.start()) is not None


def _steps(text: str, batches: list[re.Match[str]]) -> list[re.Match[str]]:
    """Where steps are counted; behind the values of an episode stands how many steps it had, not where the run is."""
    steps = list(_STEP.finditer(text))
    # Behind a value, be it not the rate, "steps=158" says how many it took; the steps of two parts of the data say
    # how many those have.
    if len(_AMOUNTS.findall(text)) > 1:
        steps = [m for m in steps if not m["word"].lower().endswith("s")]
    steps = [
        m
        for m in steps
        if m["word"].lower() != "steps" or not _VALUE.search(_RATE.sub("", text[: m.start()]))
    ]
    episode = next((match for match in batches if match["word"].lower().startswith("episode")), None)
    # Beside how many episodes there were, "total_steps" is where the run is; else it is mostly how far it will go.
    several = episode is not None and episode["word"].lower() == "episodes"
    steps = [m for m in steps if "total" not in m["word"].lower() or (several and m["total"] is None)]
    if episode is None or any(match.start() < episode.start() for match in steps):
        return steps
    return [
        match
        for match in steps
        if (
            (_rank(match) < _OF_RUN and match["word"].lower() != "updates")
            or not _OF_EPISODE.search(text, episode.end(), match.start())
        )
        and not _LASTED.search(text, episode.end(), match.start())
    ]


def _with(text: str, found: Place, match: re.Match[str]) -> Place:
    """A place with what the groups of a match say; groups of alternatives end with a digit."""
    slots = {
        name.rstrip("0123456789"): slot_at(text, match.start(name))
        for name, group in match.groupdict().items()
        if group is not None and name != "word"
    }
    return found._replace(
        step=slots.get("at", slots.get("step", -1)),
        total=slots.get("total", -1),
        epoch=slots.get("epoch", found.epoch),
        used=found.used | _slots(text, match),
        start=min(found.start, match.start()),
    )


def rows_of(text: str) -> list[tuple[int, int]]:
    """Where the rows of a line begin and end, if it holds several: each begins with the same word for its step.

    Rows that are only numbered, ``[010] loss``, name the same value first.
    """
    steps = list(_STEP.finditer(text)) or list(_EPOCH.finditer(text)) or list(_NUMBERED.finditer(text))
    begins = [match.start() for match in steps if match["word"].lower() == steps[0]["word"].lower()]
    begins = begins or [
        match.start() for match in _IN_EPOCH.finditer(text)
    ]  # redraws of a bar that are copied as one line
    if len(begins) < 2 or begins[0] > MAX_BEFORE or any(b - a < MIN_ROW for a, b in pairwise(begins)):
        return [(0, len(text))]
    return list(zip([0, *begins[1:]], [*begins[1:], len(text)], strict=True))


MAX_BEFORE = 60
"""Characters before the first of several rows of a line: a time and a logger, or the strokes of a bar."""

MIN_ROW = 12
"""Characters of a row: "step 1 loss 2" has as many."""


def _other_form(text: str) -> re.Match[str] | None:
    return (
        _BRACKETS.match(text)
        or _NUMBER_OF.search(text)
        or _SEEN.search(text)
        or _BATCHES.match(text)
        or _LEADING.match(text)
        or _IN_PARENTHESES.search(text)
        or _BEFORE_REST.match(text)
        or _SHARE.search(text)
        or _STEPS_AFTER.search(text)
    )


def _rank(match: re.Match[str]) -> int:
    word = match["word"].lower()
    return next((rank for rank, part in enumerate(_RANKS) if part in word), len(_RANKS))


def _slot(text: str, match: re.Match[str], group: str) -> int:
    return slot_at(text, match.start(group)) if match[group] is not None else -1


def _slots(text: str, match: re.Match[str]) -> set[int]:
    begin = slot_at(text, match.start())
    return set(range(begin, begin + slot_at(match[0], len(match[0]))))
