"""Spellings that say the same as ``name: value``: printed tensors and lists, decimal commas, an index behind the name.

A row is put into the plain spelling before its wording is learned, so that one learner reads them all.
"""

from __future__ import annotations

import re

from analyzer.ingest.text.rows.spellings import NUMBER
from analyzer.ingest.text.rows.spellings.pair_spellings import in_plain_words, plain_pairs
from analyzer.lazy_regex import LazyRegex
from analyzer.model.name_words import says_no_quantity, word_set

_HELD_OUT = r"val(?:id(?:ation)?)?|test|dev|h[eo]ld-?out"

_ODD = LazyRegex(
    r"\w,[a-z]|:[a-z]\w{0,30}, ?-?\d|(?:rn|ain|al|est)_[a-z]{2,8} {1,3}\d|\d\.\d{1,12}f-?\d|, \d{1,3}: -?\d|[Tt]rain(?:ing)?[:=] {0,4}-?[\dn]|[tT]ensor[(:]|np\.float|['\"], ?[-\d.]|\w\[ {0,3}\d{1,12} {0,3}\] {0,2}[:=]|(?<![\w/])[a-z]{2,9}_(?:-?\d|nan|inf)|[=:] {0,4}-?\d{1,4},\d|[(\[]'?(?:train|val|test|dev|held.out)|\([a-z]\w{1,20}/[a-z]|[A-Za-z]@0?\.\d"
    # each begins with a rare character, so that most places of a line are passed at once
    r"|\{(?:[\"']?(?:metric|name|tag)\w{0,4}[\"']?: |(?:epoch|step)=)|VL ?[:=]? ?\d|HR ?[:=]|VG\.LOSS \d|Metric: f=|\*(?:-?\d|-?[nN]a[nN]|-?[iI]nf)|\* \d{1,12};|Score at iter|\) = \([-\d]|\+(?<= \+) ?\d"
    r"|[a-zA-Z][(<{](?:-?\d|nan|inf)|\d (?:episodes|games|rollouts)|(?:last|past|previous) \d{1,6} [a-z]{4,10}\)? {0,3}(?:[:=]|is )|\((?:last |over )?\d{1,6} [a-z]|oss {1,2}\d{1,12}:?\s{1,9}-?\d"
    r"|\d(?<=[ .]\d) ?[:=] ?\d?\.\d|\d(?<=[ .]\d\d) ?[:=] ?\d?\.\d|of (?:the )?best |oss: [a-z]|oss (?:\[|of )\d"
    r"|, (?<=\w, )[a-z]\w{0,30}(?: \w{1,20})? {0,3}[=:-]{1,4}>? {0,3}-?\d|: %\d|(?:lass|gory)(?: #? ?|: ?|#)\d| to \d|set as:? {1,2}\d| on (?:the |all )?(?:\d|[tTvVeEhd])|ot \d{1,9} ?/|[:=] {0,3}\.\d{1,9}\.|\d epoch(?:[,:;|]|s  )"
    r"| over (?<=\d over )\d|^OVERALL |, \(-?\d|ort \(\d|\[\(\d{1,9}, [-\dn]|fail \d|ank-?\d|^[a-zA-Z]{3,10} ?[,:|] {0,2}\d{1,9}/\d|\)\.(?<=\w\(\)\.)[a-z]"
    r"|[/|](?<=\d[/|])(?:-?\d{1,12}\.\d|nan)|(?:mean|min|avg|[Tt]rain)/(?:median|max|std|[Vv]al|[Tt]est|[Dd]ev)|(?:poch|\bep|tep|ter|tion|atch|sode|ound|rial|date|fold|oss|time|acc|racy|rror|core|ppl|lr|mae|MAE|mse|MSE|snr|SNR|sim|SIM|dice|auc|AUC|uroc|upro| is)(?: ?- ?)?\d|---:? {0,3}-?\d|===:? {0,3}-?\d|\d(?:step|iter|epoch)(?=[:,;| ])|->(?<=\d->)\d|-> (?:(?<=[\d%] -> )|(?<=[\d%] --> ))-?\d|cur metric, [a-z]|ain \d{3,6} -?\d\.\d{3,12}e|\](?: - \| {0,9}\d| (?<=[a-zA-Z]\] )[a-z]\w{0,20} -?\d{1,9}\.\d)|%WER \d|\) (?<=\d\) )(?:INFO|WARNING|DEBUG): |\w\([a-z]\w{0,15}, [^()]{1,60}\) =|osses: |ogress: \(|it/\d|[ {(\[]u'|[Tt](?:r|rn|rain) {1,3}(?:\d|nan|inf)|\d (?:trn?|train),? |_epoch_\d| (?:of|was) \[?(?:-?\d{1,12}\.\d|[nN]a[nN]|inf)| of epoch \d|, \.\d|- {1,3}\d{1,9}\.?\d{0,9} \([am]|[Tt]op \d|\.{3,60}[: ]{0,3}(?:[-\d]|nan|inf)|\[(?<=\w\[) {0,4}(?:-?\d{1,12}\.\d|nan|inf)|(?:at|ter) \[\d|[rRd] train ?=|%=\d|: [-+]?\.[nNiI]|> {1,3}[-\d]|\d(?:st|nd|rd|th)[ -][a-z]|\d-epoch|\d[A-Z](?:[a-z]{3}|\w{1,20}: ?-?\d)|\|[\u2207A-Za-z]{1,12}\|{1,2} ?[=:]|/(?<=[\d)\]]/)[A-Za-z]|[)\]](?<=\w[)\]]) ?[:=/] ?[(\[]-?\d"
)
"""What one of the spellings below holds; all other lines are left as they are at the cost of this one search."""

_EMPHASIS = LazyRegex(rf"(?<![\w*)\]])(\*{{1,2}})({NUMBER}%?)\1(?![\w*])")
"""Numbers that somebody made bold in what was a log."""
_TUPLES = LazyRegex(
    rf"^\W{{0,4}}\((?P<names>[a-z]\w{{0,20}}(?:, \w{{1,30}}){{1,7}})\) = \((?P<values>{NUMBER}(?:, {NUMBER}){{1,7}})\)$"
)
_CALL = LazyRegex(r"(?<=\w)\([^()]{0,100}\)|(?<=\d) \([a-z]{1,20}\)(?=[,)])")
_SUM = LazyRegex(
    rf"(?<![\w.])(\w{{0,20}}(?:loss|cost)|train) ?[:=]{{1,2}} ?\[?({NUMBER}) ?= ?({NUMBER}(?: ?\+ ?{NUMBER}){{1,7}})\]?(?![\w.])"
)
_TENSOR = LazyRegex(
    rf"\b(?:(?:tf\.)?[tT]ensor|param|np\.float\d\d)\( ?\[{{0,2}}({NUMBER})\]{{0,2}}(?:, ?[A-Za-z][^()\r\n]{{0,80}}(?:\(\d?,?\)[^()\r\n]{{0,80}})?)?\)"
)
_SHOWN = LazyRegex(rf"<tf\.(?:Tensor|Variable)[ :][^<>\r\n]{{1,120}}\bnumpy=\[?({NUMBER})\]?>")
"""What TensorFlow shows of a tensor: ``<tf.Tensor: shape=(), dtype=float32, numpy=0.5>``."""
_LISTED = LazyRegex(
    rf"(?:(?P<quote>['\"]) ?|(?<=[(,\[ ]):)(?P<name>[A-Za-z][\w /-]{{0,40}}?)(?(quote)[ :=#]{{0,9}}['\"]), ?(?={NUMBER})"
)
_ESCAPED = LazyRegex(r"(?<=['\"])(?:\\[tn]|\s){1,6}|(?<=\w)(?:\\[tn]|\s){1,6}(?=['\"])")
"""Tabs and blanks at an end of a name, as Python 2 shows what was printed: ``('Episode #', 5, '\\\\treward', 0.5)``."""
_CALLED = LazyRegex(
    rf"(?<![\w.])([A-Za-z]\w{{0,30}})\([a-z]\w{{0,15}}, [^()]{{1,60}}\) = (?=-?{NUMBER}(?![\w.])|param\()"
)
_PARTS = LazyRegex(rf"(?:(?<=osses: )|(?<=oss: ))(?:[A-Za-z]\w{{0,30}} {NUMBER},? ?){{2,20}}")
_PART = LazyRegex(r"([A-Za-z]\w{0,30}) (?=[-+\dni])")
_OLD_TUPLE = LazyRegex(r"^\('([A-Za-z]\w{0,30})[ :]{0,3}', (\{.{1,900}\})\)$")
_OLD_STRING = LazyRegex(r"(?<=[ {(\[])u(?=')")
_INDEXED = LazyRegex(
    rf"(?<![\w.])((?:(?:[Tt]rain(?:ing)?|[Vv]al(?:id(?:ation)?)?|[Tt]est|[Aa]vg|[Aa]verage|[Mm]ean) ){{0,2}}\w{{0,30}}(?:[lL]oss|acc|cost|err|score|reward|ppl)\w{{0,20}})(?: (epoch|step|iter(?:ation)?))?\[ {{0,3}}(\d{{1,12}}) {{0,3}}\] {{0,2}}[:=]\s{{0,4}}(?={NUMBER})"
)
_ITEMS = LazyRegex(
    rf"(?<![\w.])(?!(?:[eE]poch|[sS]tep|[iI]ter|[bB]atch|[fF]old)\w{{0,8}}\[)([A-Za-z]\w{{0,30}})\[(\d{{1,2}})\] ?[:=] ?(?={NUMBER}(?![\w.]))"
)
"""Items of one list, each by its index: ``acc[0]: 0.5, acc[1]: 0.75``."""
_OVER_STEPS = LazyRegex(
    rf"(?<=[lL]oss) (?:\[\d{{1,12}} ?- ?\d{{1,12}}\]|of \d{{1,9}} batches)(?=: {{0,3}}{NUMBER})"
)
_GLUED = LazyRegex(
    r"(?<![\w/])(step|iter|iteration|epoch|(?:loss|acc|accuracy|ppl|lr|reward)(?!_\d{1,3}['\"]? {0,2}[:=]))_(-?\d{1,12}(?:\.\d{1,20})?(?:e[-+]?\d{1,3})?|-?nan|-?inf)(?![\w.])"
)
_RUN_ON = LazyRegex(
    rf"(?i)(?<![A-Za-z0-9_/.-])((?:(?:epoch|train(?:ing)?|tr|{_HELD_OUT}|eval|avg|mean|total|running)_){{0,3}}(?:loss|time|acc(?:uracy)?|error|cost|ppl|score|reward|lr|r?mse|mae|psnr|ssim|dice|au(?:c|roc|pro))(?: is)?)(\d{{1,9}}\.\d{{2,20}}(?:e[-+]?\d{{1,3}})?)(?!\w|\.\w)"
)
"""A name and its number without anything between them; one of a file goes on behind the number."""
_COUNTED = LazyRegex(
    r"(?i)(?<![\w/.-])(?:(epoch|step|iter|iteration|batch|ep)(?:-| - )?|(episode|round|generation|trial|update|fold)-)(\d{1,9})(?![\w.-])"
)
_ORDINAL = LazyRegex(
    r"(?<![\w.])(\d{1,9})(?:(?:st|nd|rd|th)[ -]|-(?=epoch))((?:mini[ -]?)?batch|epoch|step|iter(?:ation)?|episode|round|generation)\b"
)
_GROUP = LazyRegex(rf"\[([A-Za-z]\w{{0,11}})\] ((?:[a-z]\w{{0,20}} {{1,2}}{NUMBER}(?:,? {{1,3}}|$)){{2,8}})")
"""Names and numbers in turn behind the name of what they are of: ``[D] real 0.5 fake 0.25  [G] fake 0.75 reg 1.5``."""
_CHANGED = LazyRegex(
    rf"(?<=[:=] )(?<!(?i:fold|poch|step|iter)[:=] )(?<!(?i:class|batch|trial|round|ation)[:=] ){NUMBER}%? ?[-=]{{1,20}}> {{0,2}}(?={NUMBER}(?![\w.]))"
)
"""What a value was before it changed: ``loss: 0.75 -> 0.5``. What counts does not change: behind it stands what was reached there."""
_NUMBER_FIRST = LazyRegex(r"^(\W{0,4})(\d{1,9})(step|iter|iteration|epoch)(?=[:,;|] )")
_RUN_PAST = LazyRegex(r"(?<=[\d.]\d)(?=[A-Z](?:[a-z]{3}|\w{1,20}: ?-?\d))|(?<=\d{6})(?=(?:the|and|with)\b)")
"""Where another writer, or the next value, begins right behind a number."""
_IN_STROKES = LazyRegex(
    rf"(?<![\w|])\|{{1,2}}([\u2207A-Za-z]{{1,12}})\|{{1,2}} ?[=:] ?(?={NUMBER}(?!\w|\.\d))"
)
_COMMA = LazyRegex(r"(?<![\d.,])(\d{1,4}),(\d{1,20})(?!\d|,\d)")
_RATE_TO = LazyRegex(
    rf"(?i)\b(?:[a-z]{{3,9}}ing )?(?:the )?(?:lr|learning rate)(?: of (?:param(?:eter)? )?group (?P<group>\d{{1,3}}))?(?: (?:is |was )?[a-z]{{3,9}}ed|(?: is| was)? set)? (?:to|as):? {{1,2}}(?={NUMBER}(?!\w))"
)
"""What a rate was set to is the rate from there on: ``Updating learning rate to 0.5``, ``learning rate of group 0 to 0.5``."""
_ON_PHASE = LazyRegex(
    rf"(?i)\b(?P<name>(?:(?:top-?\d|mean|average|avg|total) )?(?:loss|acc(?:uracy)?|error(?: rate)?|perplexity|f1(?:[ -]score)?|precision|recall|auc|rmse|mae|mse|dice|miou|iou|psnr|ssim|lpips))"
    rf"(?: of the (?:[a-z]{{2,12}} )?(?:network|model|net|classifier|agent))? (?:on|over|for) (?:the |all )?(?:\d{{1,9}} )?(?P<phase>train(?:ing)?|{_HELD_OUT}|eval(?:uation)?|held[ -]out)"
    rf"(?: (?:set|data|dataset|images?|samples|examples|split|instances))?\s?(?: is| was|:| =)?\s{{1,3}}(?={NUMBER}(?![\w/]| (?:epochs|steps)))"
)
"""Behind a quantity, of which data it is: ``Accuracy of the model on the 80 test images: 62.5 %``."""
_GOT = LazyRegex(r"(?i)\bgot (\d{1,9} ?/ ?\d{1,9}) correct\b")
_SURE_COMMA = LazyRegex(
    r"[=:] {0,4}-?(?:0,\d{1,20}|\d{1,4},(?:\d{1,2}|\d{4,20}))(?!\d|,\d)"
)  # three digits may be thousands
_POINT = LazyRegex(r"\d\.\d")
_THRESHOLD = LazyRegex(r"(?<=[A-Za-z])@0?\.(\d{1,2})(?:[:-]0?\.(\d{1,2}))?(?![\d.])")
_NOTED = LazyRegex(
    rf"([A-Za-z][\w-]{{0,30}}) ?[:=] ?({NUMBER}) \(train(?:ing)?\),? ({NUMBER}) \(({_HELD_OUT})\)"
)


_LISTED_NAMES = LazyRegex(
    rf"(?<![\w./,])(?P<names>[A-Za-z]\w{{2,40}}(?:,[A-Za-z]\w{{2,40}}){{1,7}}) {{1,3}}(?P<values>{NUMBER}(?: {{1,3}}{NUMBER}){{1,7}})(?![\w.])"
)
_NAMES_FIRST = LazyRegex(
    rf"(?<![\w./,'\"])(?P<names>(?:[tT]rain |[vV]al |[tT]est )?[A-Za-z][\w@-]{{0,30}}(?:, ?(?:[tT]rain |[vV]al |[tT]est )?[A-Za-z][\w@-]{{0,30}}){{1,8}}) {{0,3}}(?:[=-]{{1,4}}>|[:=-]) {{0,3}}(?P<values>{NUMBER}(?:(?:, ?| {{1,3}}){NUMBER}){{1,7}}),?(?![\w.])"
)
_POINT_AHEAD = LazyRegex(r"(?<=[:=])(\s{0,3})\.(?=\d{1,9}\.\d)")
"""A full stop between a sign and a number that has its own: ``acc:.0.25``."""
_CLASS = LazyRegex(r"(?i)^(\W{0,8}(?:class|category))(?:[ :] ?#? ?|#)(\d{1,4})(?=[\s:,|-]{1,20}[a-z])")
"""The number of a class belongs to the names of its line."""
_PERCENT_FIRST = LazyRegex(r"(?<=[:=] )%(\d{1,3}(?:\.\d{1,8})?)(?![\w%]|\.\d)")
_EPOCH_BEHIND = LazyRegex(r"(?:(?<![\w.])(\d{1,6}) epoch(?=[,:;|] )|^\W{0,8}(\d{1,6}) epochs(?= {2,9}\w))")
_IN_TURN = LazyRegex(
    rf"(?:^|(?<=,)|(?<=, ))([A-Za-z]\w{{0,30}}(?: [A-Za-z]\w{{0,30}})?), ?(?={NUMBER}(?:,|$))"
)
_ENCLOSED = LazyRegex(
    rf"(?<![\w./])([A-Za-z][\w/-]{{1,30}})(?:\(({NUMBER})\)|<({NUMBER})>|\{{({NUMBER})\}}|\[ {{0,8}}({NUMBER})\](?! {{0,2}}[:=]))(?![\w(])"
)
_INSIDE = LazyRegex(
    r"(?i)\b((?:train|val(?:idation)?|test)(?:ing)? loss) {1,2}(\d{1,12}):?\s{1,9}(?=-?\d{1,12}\.\d)"
)
_OVER_EPISODES = LazyRegex(
    r"(?i)\b(?:eval(?:uation)?|test)\w{0,3} (?:over|on) \d{1,6} (?:episodes|games|rollouts) ?[:=]? {0,3}(?=[-+\d])"
)
_OVER_LAST = LazyRegex(
    r"(?i)(?<=[a-z]) \(?(?:(?:over|of|in|for) )?(?:the )?(?:last|past|previous) \d{1,6} (?:episodes|games|rollouts|batches|steps|iterations|updates|epochs)\)?(?= {0,3}[:=]| is [-+]?\d)"
)
_OVER_SOME = LazyRegex(
    r"(?<=[a-z]) {0,2}\((?:over |of |last |past )?\d{1,6} (?:[a-z]{2,11}s|ep|episode|game)\)(?= {0,3}[:=]| {1,3}[-+]?\d)"
)
"""Of how many a value is the mean, before the value: ``mean reward (100 episodes) 12.5``."""
_STROKE = LazyRegex(
    r"(?<=[\d)\]])(?<![A-Za-z_]\d)(?<![A-Za-z_]\d\d)/(?!(?:s|sec|second|it|iter|step|batch|epoch|gpu|device|min|h|hr)\b)(?=[A-Za-z][\w ./()%-]{0,40}[:=] {0,3}[-+\d\[(])"
)
_BEGINS_SHORT = frozenset("[(Ee")
_BEGINS_GENERATION = frozenset({"Gen", "gen", "GEN"})
_GENERATION = LazyRegex(r"(?i)gen(?:eration)?[ .:=#]{0,4}\d")
_OF_GENERATION = LazyRegex(
    rf"(?i)(?<![\w-])(?<![\w]_)(best|avg|average|mean|median|min|max)(?: ?[:=])? {{0,3}}(?={NUMBER}(?![\w.]))"
)
"""What is said of the generations of a search is of their fitness: ``gen 3: best 0.5, avg 0.75``."""
_OF_BEST = LazyRegex(
    r"(?<=[a-z]) of (?:the )?best (?:model|network|weights|epoch|checkpoint)(?=[: =]{1,4}-?\d)"
)
"""Which weights were measured, behind what was measured of them now: ``test error of best model 12.5 %``."""
_SCORE_AT = LazyRegex(
    r"(?i)(?<![\w.])(?P<name>(?:m?ap|ar|precision|recall|hits?|ndcg|mrr|map|f1|iou|acc(?:uracy)?|dice|auc)(?: ?\([a-z]{2,12}\))?)(?P<of> class| ?@| at (?:k|rank)(?: ?=)?)? (?P<at>\d{1,3}|0?\.\d{1,3})(?= ?[:=] {0,3}(?:\d{0,3}\.\d|nan))"
)
"""A score with the threshold, the rank or the class that it is of: ``mAP 0.50: 0.5``, ``hits (filtered) @ 10: 0.5``, ``recall class 0 = 0.5``."""
_RANKED = LazyRegex(r"(?i)(?<![\w-])(top) (\d{1,2})(?= (?:acc(?:uracy)?|err(?:or)?|prec(?:ision)?|score)\b)")
_SHORT = LazyRegex(
    r"^([\[(]?)[Ee][Pp]?(\d{1,6})\b([\]) ,:/|-]{1,4})([Bb]|[Ss]|[Ii]t?)(\d{1,9})(?=[/\s,:;|\])]|$)"
)
_EPOCH_ALONE = LazyRegex(
    r"^[Ee][Pp]?(\d{1,4})(?:/\d{1,4})?:? (?=(?:[Tt]rn?|[Tt]rain|[lL]oss|[vV]al|[aA]cc)(?:\b|_[a-z]))|^[Ee][Pp](\d{1,5})[,:;] "
)
_OF_R = LazyRegex(r'^\[\d{1,4}\] "(.{1,2000})"\s{0,3}$')
_LEADERS = LazyRegex(
    rf"(?<![\w./])([A-Za-z][\w/-]{{0,30}}(?: [A-Za-z][\w/-]{{0,30}}){{0,3}}) ?(?:\.{{2,60}}[: ]{{0,3}}(?={NUMBER}(?![\w.]))|:?(?:-{{3,60}}|={{3,60}}):? {{0,3}}(?=-?\d{{1,12}}\.\d{{1,20}}(?![\w.-])))"
)
_ANGLED = LazyRegex(
    rf"<([A-Za-z][\w/.-]{{0,30}}(?: [A-Za-z][\w/.-]{{0,30}}){{0,3}})> {{1,3}}(?={NUMBER}(?![\w.]))"
)
_AT_ONCE = LazyRegex(
    rf"(?:\b(?P<ahead>[A-Za-z][\w-]{{0,30}}) ?)?(?P<paren>\()?(?<![\w./|])(?P<names>[A-Za-z]\w{{0,15}}(?P<by>[/|])[A-Za-z]\w{{0,15}}(?:(?P=by)[A-Za-z]\w{{0,15}}){{0,6}})(?(paren)\))"
    rf"(?: (?P<behind>[A-Za-z]\w{{0,30}}(?: [A-Za-z]\w{{0,30}}){{0,2}}?))?(?: ?[:=]? {{0,3}}| - )(?P<values>{NUMBER}(?: ?(?P=by) ?{NUMBER}){{1,7}})(?![\w/|]|\.\w)"
)
_IN_BRACKETS = LazyRegex(
    rf"(?:\b(?P<ahead>[A-Za-z][\w-]{{0,30}}) ?:? ?)?(?P<paren>[(\[])(?P<names>[A-Za-z][\w@.-]{{0,30}}(?P<by>, ?)[A-Za-z][\w@.-]{{0,30}}(?:(?P=by)[A-Za-z][\w@.-]{{0,30}}){{0,6}})[)\]] ?[:=/] ?[(\[](?P<values>{NUMBER}(?:(?P=by){NUMBER}){{1,7}})[)\]]"
)
_BETWEEN, _COMMA_BETWEEN = LazyRegex(r" ?[,/|] ?| {1,3}"), LazyRegex(r", ?")
_STATISTICS = word_set("min avg mean max std median train training val valid validation test dev top1 top5")
_PHASE_WORDS = word_set("train training val valid validation test eval dev")
_PHASE_BEHIND = LazyRegex(
    rf"\b([A-Za-z][a-z]{{1,20}}(?: [a-z]{{1,20}}){{0,2}}) ?[(\[]'?(train(?:ing)?|{_HELD_OUT}|held[ -]out)'?[)\]] ?[:=]? {{0,3}}(?={NUMBER}(?![\w.]))"
)
_TOLD = LazyRegex(
    r"(?i)\b(loss|accuracy|error|perplexity|reward|score|dice|f1) (?:of|was) (?=\[?(?:-?\d{1,12}\.\d|nan|inf))"
)
_TOLD_OF_EPOCH = LazyRegex(
    rf"^(.{{0,60}}?)\b((?:[a-z]{{1,20}} ){{0,3}}loss) of epoch (\d{{1,9}}) (?:is|was) (?={NUMBER})"
)
_PHASES = LazyRegex(
    rf"(?i)(?<![\w/.])(train|trn?) {{1,3}}({NUMBER})[ \t]{{0,2}}(?:::|[,;|/-])?[ \t]{{1,3}}({_HELD_OUT}|va|te|held(?:[ -]?out)?) {{1,3}}({NUMBER})(?![\w.])"
)
_BEFORE_PHASES = LazyRegex(rf"(?<![\w.])({NUMBER}) (train|trn) ?[,;|/] ?({NUMBER}) ({_HELD_OUT})(?![\w.:=-])")
_OF_PHASES = LazyRegex(
    rf"(?i)(?<![\w/.])(?P<of>[a-z][\w@-]{{0,30}}(?: [a-z][\w@-]{{0,30}}){{0,2}}?)(?: ?[:=|-]\s{{0,4}}|\s{{1,4}})(?P<first>train(?:ing)?|trn) ?[:=]\s{{0,4}}(?P<one>{NUMBER})%?"
    rf"[\s,;|/]{{1,6}}(?P<second>{_HELD_OUT}) ?[:=]\s{{0,4}}(?P<two>{NUMBER})(?![\w.])"
)
"""What was measured, and behind it the phases: ``MSE: train: 0.5, validation: 0.75``."""
_TWO_OF_PHASE = LazyRegex(
    rf"(?i)(?<![\w/.])(train|trn|{_HELD_OUT})[ :=]{{1,3}}({NUMBER}) ?\| ?(-?\d{{1,9}}\.\d{{1,12}}|nan)(?![\w.]| ?\|)"
)
_SHARE_OF_PHASE = LazyRegex(
    rf"(?i)(?<![\w/.])(train|trn?|{_HELD_OUT}|va|vl|te)[ :=]{{1,3}}(-?\d{{1,9}}\.\d{{1,12}}|nan)(?: ?[/|,] {{0,3}}| ?\( ?| {{1,3}})(\d{{1,3}}(?:\.\d{{1,12}})?) ?%\)?"
)
"""A loss and a share that only their phase names: ``train 0.5 / 90.1%``, ``val 0.5 (90.1%)``."""
_TWO_SPACED = LazyRegex(
    rf"(?i)(?<![\w/.])(train|trn|{_HELD_OUT})[ :=]{{1,3}}(-?\d{{1,9}}\.\d{{1,12}})(?: {{1,3}}| ?/ ?)(-?\d{{1,9}}\.\d{{1,12}})(?: {{1,3}}|[,;|] ?|$)(?=[a-z]|$)"
)
_PART_OF_PHASE = LazyRegex(
    rf"(?<![\w/.])(trn|train|{_HELD_OUT})_([a-z]{{2,8}})(?= {{1,3}}{NUMBER} [a-z]\w{{0,20}}(?! {{1,3}}[-+\d])(?!\w))"
)
_POWER = LazyRegex(r"(?<![\w.])([-+]?\d{1,9}\.\d{1,12})f(-?\d{1,2})(?![\w.])")
"""A number of single precision as Julia prints it: ``0.5f0``, ``1.0f-5``."""
_OF_NUMBERED = LazyRegex(
    rf"(?<![\w/.])(?P<name>[A-Za-z]\w{{1,30}})(?P<value> ?[:=] ?{NUMBER}(?: ?\({NUMBER}\))?)(?P<rest>(?:, \d{{1,3}}: {NUMBER}){{2,40}})(?![\w.])"
)
_NUMBERED = LazyRegex(r", (\d{1,3}): ")
"""The numbers of classes behind a score: ``dice: 0.5, 0: 0.9, 1: 0.1``."""
_HELD_OUT_BEHIND = LazyRegex(
    rf"\b([A-Za-z][A-Za-z_]{{1,20}}) ?[:=]? ?({NUMBER}) \(({_HELD_OUT}):? ({NUMBER})\)"
)
_PHASE_OF_EPOCH = LazyRegex(rf"\b(train|{_HELD_OUT})_epoch_(\d{{1,9}})\b(?=[ :]{{1,3}}[a-z])")


def plain_spelling(text: str) -> str:
    """A line in the spelling of ``name: value`` where it has another that says the same.

    >>> plain_spelling("epoch 3 loss tensor(0.5, device='cuda:0', grad_fn=<NllLossBackward0>)")
    'epoch 3 loss 0.5'
    >>> plain_spelling("Pseudo dice [np.float32(0.5), np.float32(nan)]")
    'Pseudo dice [0.5, nan]'
    >>> plain_spelling("['epoch', 3, 'loss', 0.5]"), plain_spelling("Train loss epoch[40] = 0.5")
    ('[epoch: 3, loss: 0.5]', 'epoch 40, Train loss: 0.5')
    >>> plain_spelling("39/100 [avg. loss [20-39]: 0.5]"), plain_spelling("loss [20-39] is a window")
    ('39/100 [avg. loss: 0.5]', 'loss [20-39] is a window')
    >>> plain_spelling("Mean test loss of 155 batches: 3.5."), plain_spelling("loss of 3 workers")
    ('Mean test loss: 3.5.', 'loss of 3 workers')
    >>> plain_spelling("Epoch 1: loss = 0,5; acc = 12,5"), plain_spelling("samples: 12,800 loss: 0.5")
    ('Epoch 1: loss = 0.5; acc = 12.5', 'samples: 12,800 loss: 0.5')
    >>> plain_spelling("loss (train/val) 0.5/0.6"), plain_spelling("Loss = 0.5 (train), 0.6 (val)")
    ('train loss: 0.5, val loss: 0.6', 'train Loss: 0.5, val Loss: 0.6')
    >>> plain_spelling("mAP@.5: 0.31 mAP@0.5:0.95 0.2"), plain_spelling("hit@5: 0.4")
    ('mAP50: 0.31 mAP50_95 0.2', 'hit@5: 0.4')
    >>> plain_spelling("TEST in epoch24, loss = 0.5"), plain_spelling("saved to model_epoch24 step9.pt")
    ('TEST in epoch 24, loss = 0.5', 'saved to model_epoch24 step9.pt')
    >>> plain_spelling("Epoch:3, loss0.625, took 9 s"), plain_spelling("Epoch:3, loss2: 0.5, time31.25")
    ('Epoch:3, loss 0.625, took 9 s', 'Epoch:3, loss2: 0.5, time 31.25')
    >>> plain_spelling("epoch 3 train loss ..... 0.5"), plain_spelling("step 3 <val loss> 0.5 <lr> 1e-4")
    ('epoch 3 train loss: 0.5', 'step 3 val loss: 0.5 lr: 1e-4')
    >>> plain_spelling("E3 B10/90 loss: 0.5/val loss: 0.75"), plain_spelling("step 3 12.5/s loss: 0.5")
    ('epoch 3 batch 10/90 loss: 0.5, val loss: 0.75', 'step 3 12.5/s loss: 0.5')
    >>> plain_spelling("[eval] iter 500: train 2.1 val 2.3"), plain_spelling("train nan | valid nan | acc 0.1")
    ('[eval] iter 500: train: 2.1, val: 2.3', 'train: nan, valid: nan | acc 0.1')
    >>> plain_spelling("epoch 3: a loss of 0.5, accuracy was 0.25"), plain_spelling("a loss of 3 workers")
    ('epoch 3: a loss: 0.5, accuracy: 0.25', 'a loss of 3 workers')
    >>> plain_spelling("The average loss of epoch 3 is 0.5"), plain_spelling("E03 trn 0.5 val 0.75 acc 0.25"), plain_spelling("E3 is done")
    ('The epoch 3, average loss: 0.5', 'epoch 03 trn: 0.5, val: 0.75 acc 0.25', 'E3 is done')
    >>> plain_spelling("MAE 0.5 (val 0.75)"), plain_spelling("val_epoch_3 loss:0.5"), plain_spelling("saved train_epoch_3.pt")
    ('MAE: 0.5, val MAE: 0.75', 'epoch 3 val loss:0.5', 'saved train_epoch_3.pt')
    >>> plain_spelling("cross entropy (train) = 0.5; cross entropy (held out) = 0.75")
    'train cross entropy: 0.5; held out cross entropy: 0.75'
    >>> plain_spelling("Epoch(2) Loss(0.5)"), plain_spelling("epoch<2> loss<0.5>"), plain_spelling("range(3)")
    ('Epoch: 2 Loss: 0.5', 'epoch: 2 loss: 0.5', 'range(3)')
    >>> plain_spelling("Train loss 20 0.5 Grad Norm 0.25"), plain_spelling("Validation loss 20:  0.5")
    ('step 20, Train loss: 0.5 Grad Norm 0.25', 'step 20, Validation loss: 0.5')
    >>> plain_spelling("Evaluation over 10 episodes: 123.4"), plain_spelling("(:epoch, 3, :loss, 0.5)")
    ('eval reward: 123.4', '(epoch: 3, loss: 0.5)')
    >>> plain_spelling("loss_a,loss_b,acc 0.5 2.0 0.75"), plain_spelling("steps a,b 3")
    ('loss_a: 0.5, loss_b: 2.0, acc: 0.75', 'steps a,b 3')
    >>> plain_spelling("train/val loss: nan/0.75"), plain_spelling("mean/median reward 20.5/19.0, min/max reward 1.0/9.0")
    ('train loss: nan, val loss: 0.75', 'mean reward: 20.5, median reward: 19.0, min reward: 1.0, max reward: 9.0')
    >>> plain_spelling("step 3, loss min|avg|max: 0.5|1.5|9.5"), plain_spelling("training loss/acc: 0.5/0.25"), plain_spelling("it/s: 3/4")
    ('step 3, min loss: 0.5, avg loss: 1.5, max loss: 9.5', 'training loss: 0.5, training acc: 0.25', 'it/s: 3/4')
    >>> plain_spelling("step_20: loss_-4.5"), plain_spelling("step_20: loss_nan"), plain_spelling("wrote epoch_3")
    ('step 20: loss -4.5', 'step 20: loss nan', 'wrote epoch_3')
    >>> plain_spelling("16%|#  | 644it/4.00kit [00:10<00:50, 66.5it/s, loss=0.5]"), plain_spelling("acc[0]: 0.5, acc[1]: 0.25")
    ('16%|#  | 644/4000 [00:10<00:50, 66.5it/s, loss=0.5]', 'acc_0: 0.5, acc_1: 0.25')
    >>> plain_spelling('[1] "[3]:  loss:0.5"'), plain_spelling("fit progress: (3, 0.5, {'accuracy': 0.25}, 9.5)")
    ('[3]:  loss:0.5', "round: 3, eval loss: 0.5, {'accuracy': 0.25}, 9.5)")
    >>> plain_spelling("loss(x, y) = param(0.5)"), plain_spelling("('Losses', {u'ner': 0.5})")
    ('loss = 0.5', "Losses {'ner': 0.5}")
    >>> plain_spelling("[Losses: x 0.5, H 0.25, total 0.75, recall: 0.5]"), plain_spelling("('Epoch : ', 3)")
    ('[Losses: loss_x: 0.5, loss_H: 0.25, total: 0.75, recall: 0.5]', '(Epoch: 3)')
    >>> plain_spelling("('Round #', 3, ' mean return', -9.5)")
    '(Round: 3, mean return: -9.5)'
    >>> plain_spelling("val, round, loss, acc ==> 002, 0.75, 0.5"), plain_spelling("Train acc, val acc : 0.5 0.75"), plain_spelling("x, y = 1, 2")
    ('val round: 002, loss: 0.75, acc: 0.5', 'Train acc: 0.5, val acc: 0.75', 'x, y = 1, 2')
    >>> plain_spelling("loss: 0.5 (top-1: %12.5)"), plain_spelling("3 epoch, val loss: 0.5"), plain_spelling("||Rest||: 0.5.")
    ('loss: 0.5 (top-1: 12.5%)', 'epoch 3, val loss: 0.5', 'norm of Rest: 0.5.')
    >>> plain_spelling("epoch,3,loss,0.5"), plain_spelling("epoch,3,last loss,0.5"), plain_spelling("Epoch[ 3] Loss[0.5]"), plain_spelling("loss....: 0.5")
    ('epoch: 3,loss: 0.5', 'epoch: 3,last loss: 0.5', 'Epoch: 3 Loss: 0.5', 'loss: 0.5')
    >>> plain_spelling("3rd epoch, 10th mini-batch"), plain_spelling("d_loss: 0.25Saved a picture"), plain_spelling("|grad|=0.5")
    ('epoch 3, mini-batch 10', 'd_loss: 0.25  Saved a picture', 'grad norm: 0.5')
    >>> plain_spelling("epoch 3 loss: **0.5**, ppl **nan**"), plain_spelling("train-error:*-nan*"), plain_spelling("[1- 9]: ce = 2.25 * 900; errs = 9.5% * 900;")
    ('epoch 3 loss: 0.5, ppl nan', 'train-error:-nan', '[1- 9]: ce = 2.25; errs = 9.5%;')
    >>> plain_spelling("loss : 7.0 = 0.5 + 6.25 + 0.25, 3 s"), plain_spelling("train==[9.5=9.0 + 0.5]"), plain_spelling("loss: 3.0 = 1.0 + 1.0")
    ('loss: 7.0, loss_term_1: 0.5, loss_term_2: 6.25, loss_term_3: 0.25, 3 s', 'train loss: 9.5, loss_term_1: 9.0, loss_term_2: 0.5', 'loss: 3.0 = 1.0 + 1.0')
    >>> plain_spelling("(i, loss(data[1]...)) = (3, 0.5 (tracked))"), plain_spelling("Score at iteration 3 is 0.5")
    ('i: 3, loss: 0.5', 'loss at iteration 3 is 0.5')
    >>> plain_spelling("7: boxes 9, loss: x 0.5, h nan, total 0.75"), plain_spelling("loss: mean 0.5")
    ('7: boxes 9, loss: loss_x: 0.5, loss_h: nan, total: 0.75', 'loss: mean 0.5')
    >>> plain_spelling("val: MAE:(yaw, mean)/(4.5, 3.5)"), plain_spelling("f (x, y) = (0.5, 2, 3)")
    ('val: yaw MAE: 4.5, mean MAE: 3.5', 'f (x, y) = (0.5, 2, 3)')
    >>> plain_spelling("MSE: train: 0.5 , validation: 0.75"), plain_spelling("Results: train: 0.5, val: 0.75")
    ('train MSE: 0.5, validation MSE: 0.75', 'Results: train: 0.5, val: 0.75')
    >>> plain_spelling("epoch 2, train 2.25|0.5, val 2.5|0.25"), plain_spelling("train 0.5 | 3 left")
    ('epoch 2, train: 2.25, train_2: 0.5, val: 2.5, val_2: 0.25', 'train 0.5 | 3 left')
    >>> plain_spelling("loss = 0.5f0, lr 1.5f-4"), plain_spelling("round-3: 0.25"), plain_spelling("Epoch-2: 0.5")
    ('loss = 0.5e0, lr 1.5e-4', 'round 3: 0.25', 'Epoch 2: 0.5')
    >>> plain_spelling("dice: 0.5(0.5), 0: 0.9, 1: 0.1, 2: 0.5"), plain_spelling("bins: 3, 10: 5, 40: 9")
    ('dice: 0.5(0.5), dice_0: 0.9, dice_1: 0.1, dice_2: 0.5', 'bins: 3, 10: 5, 40: 9')
    >>> plain_spelling("Epoch 2: 0.5 train, 0.25 val"), plain_spelling("mean reward over the last 10 episodes is 0.5")
    ('Epoch 2: train: 0.5, val: 0.25', 'mean reward is 0.5')
    >>> plain_spelling("epoch 2 :: train 0.5 :: valid 0.25"), plain_spelling("** tr 0.5 va 0.25 **")
    ('epoch 2 :: train: 0.5, valid: 0.25', '** tr: 0.5, va: 0.25 **')
    >>> plain_spelling("train 0.5 0.75 test 0.25 0.5")
    'train: 0.5, train_2: 0.75, test: 0.25, test_2: 0.5, '
    >>> plain_spelling("E2 val_all  0.5 loss"), plain_spelling("train 2.5  held 3.5  (9.5 % less)")
    ('epoch 2 val all  0.5 loss', 'train: 2.5, heldout: 3.5  (9.5 % less)')
    >>> plain_spelling("train 0.5 / 12.5% val 0.75 / 9.5%"), plain_spelling("loss (10 batches) 0.5"), plain_spelling("top (2 runs)")
    ('train loss: 0.5, train_2: 12.5%,  val loss: 0.75, val_2: 9.5%, ', 'loss 0.5', 'top (2 runs)')
    >>> plain_spelling("Gen 3: best 0.5 avg=0.25 avg_len 9"), plain_spelling("Generic best 0.5")
    ('Gen 3: best fitness: 0.5 avg fitness: 0.25 avg_len 9', 'Generic best 0.5')
    >>> plain_spelling("测试上的loss33.25"), plain_spelling("Top 1 Acc: 0.6"), plain_spelling("mAP 0.50: 0.5"), plain_spelling("Hits (filtered) @ 10: 0.5"), plain_spelling("Precision at k = 5: 0.5"), plain_spelling("recall class 0 = 0.5")
    ('测试上的loss 33.25', 'Top1 Acc: 0.6', 'mAP@50: 0.5', 'Hits_filtered@10: 0.5', 'Precision@5: 0.5', 'recall_class_0 = 0.5')
    >>> plain_spelling("test error of best model 12.5 %"), plain_spelling("epoch 10: 0.5")
    ('test error 12.5 %', 'epoch 10: 0.5')
    """
    if text[:1] in _BEGINS_SHORT:
        text = _SHORT.sub(_in_words, _OF_R.sub(r"\1", text))
        text = _EPOCH_ALONE.sub(lambda m: f"epoch {m[1] or m[2]} ", text)
    if text[:3] in _BEGINS_GENERATION and _GENERATION.match(text):
        text = _OF_GENERATION.sub(r"\1 fitness: ", text)
    text = in_plain_words(plain_pairs(text))
    if _ODD.search(text) is None:
        return text
    text = _POWER.sub(r"\1e\2", _EMPHASIS.sub(r"\2", text))
    text = _SUM.sub(_of_terms, text)
    if text.endswith(")") and ") = (" in text:  # what Julia shows of a tuple
        text = _TUPLES.sub(_each, _CALL.sub("", text))
    if len(_ENCLOSED.findall(text)) > 1:  # a single one is a call
        text = _ENCLOSED.sub(lambda m: f"{m[1]}: {m[m.lastindex or 0]}", text)
    if len(_IN_TURN.findall(text)) > 1:
        text = _IN_TURN.sub(r"\1: ", text)
    text = _IN_STROKES.sub(_norm_of, _ORDINAL.sub(r"\2 \1", _RUN_PAST.sub("  ", text)))
    text = _CHANGED.sub("", text) if ">" in text else text
    text = _of_programs(text)
    if text.count("] ") > 1 and len(_GROUP.findall(text)) > 1:  # a single one may be a level, or a tag
        text = _GROUP.sub(lambda m: _PART.sub(rf"{m[1]}_\1: ", m[2]), text)
    text = _NUMBER_FIRST.sub(r"\1\3 \2", text)
    text = _THRESHOLD.sub(_in_percent, _OVER_EPISODES.sub("eval reward: ", text))
    text = _OLD_TUPLE.sub(r"\1 \2", _OLD_STRING.sub("", text))
    text = _PARTS.sub(lambda m: _PART.sub(_of_loss, m[0]), text)
    text = _TENSOR.sub(r"\1", _CALLED.sub(r"\1 = ", _SHOWN.sub(r"\1", text)))
    if text.lstrip()[:1] in "([" or "('" in text or "dict([(" in text or "Dict([(" in text:
        text = _LISTED.sub(r"\g<name>: ", _ESCAPED.sub("", text))
    text = _INSIDE.sub(r"step \2, \1: ", text)
    if len({item for _, item in _ITEMS.findall(text)}) > 1:  # a single one may be a step
        text = _ITEMS.sub(r"\1_\2: ", text)
    text = _OVER_STEPS.sub("", _INDEXED.sub(lambda m: f"{m[2] or 'step'} {m[3]}, {m[1]}: ", text))
    text = _RANKED.sub(r"\1\2", _RUN_ON.sub(r"\1 \2", _COUNTED.sub(_spaced, text)))
    if len(_GLUED.findall(text)) > 1:  # a single one is the name of a file
        text = _GLUED.sub(r"\1 \2", text)
    if _POINT.search(text) is None and _SURE_COMMA.search(text):
        text = _COMMA.sub(r"\1.\2", text)
    text = _SCORE_AT.sub(_at, _CLASS.sub(r"\1_\2", text))
    text = _EPOCH_BEHIND.sub(
        lambda m: f"epoch {m[1] or m[2]}", _PERCENT_FIRST.sub(r"\1%", _POINT_AHEAD.sub(r"\1", text))
    )
    text = _STROKE.sub(", ", _LISTED_NAMES.sub(_each, _NAMES_FIRST.sub(_each, text)))
    text = _RATE_TO.sub(_rate_of, text) if " to " in text or " as" in text else text
    text = _ON_PHASE.sub(r"\g<phase> \g<name>: ", _GOT.sub(r"accuracy: \1", text))
    text = _ANGLED.sub(r"\1: ", _LEADERS.sub(r"\1: ", text))
    text = _HELD_OUT_BEHIND.sub(r"\1: \2, \3 \1: \4", _PHASE_OF_EPOCH.sub(r"epoch \2 \1", text))
    text = _TOLD_OF_EPOCH.sub(r"\1epoch \3, \2: ", _TOLD.sub(r"\1: ", text))
    text = _beside_phases(text)
    text = _IN_BRACKETS.sub(_each, _AT_ONCE.sub(_each, text))
    return _NOTED.sub(r"train \1: \2, \4 \1: \3", text)


def _of_programs(text: str) -> str:
    """A row of a single program as it means it."""
    if not (text.startswith("train ") or _OF_PROGRAMS.search(text)):
        return text
    from analyzer.ingest.text.rows.spellings.program_spellings import plain_of_programs  # noqa: PLC0415  (few logs hold one)

    return plain_of_programs(text)


_OF_PROGRAMS = LazyRegex(
    r"^OVERALL |\{(?:[\"']?(?:metric|name|tag)\w{0,4}[\"']?: |(?:epoch|step)=)|VL ?[:=]? ?\d|HR ?[:=]|VG\.LOSS \d|Metric: f=|^\(:|\[\(\d{1,9}, [-\dn]|\* \d{1,12};|Score at iter|ogress: \(\d|^[a-z]{3,10} ?[,:|] {0,2}\d{1,9}/\d|\(\)\.[a-z]|report \(\d|\. Bit fail \d|ank-?\d{1,2} {0,3}[:=]|%WER |\] - \||\.5R: | \([am]|cur metric|\) (?:INFO|WARNING|DEBUG): |it/\d|[a-z]~\d|\w\[(?:-?\d{1,9}\.\d|nan)|(?:at|after) \[\d|[rRd] train ?=|\[\d{1,3}%=\d|: [-+]?\.[nNiI]| over (?<=\d over )\d"
)
"""What rows of single programs hold."""


def _beside_phases(text: str) -> str:
    """Values that only their phases name, or that stand before or behind these."""
    text = _PHASES.sub(_both_phases, _PHASE_BEHIND.sub(r"\2 \1: ", text))
    if len(_SHARE_OF_PHASE.findall(text)) > 1:  # one may be how far it came
        text = _SHARE_OF_PHASE.sub(r"\1 loss: \2, \1_2: \3%, ", text)
    text = _OF_NUMBERED.sub(_of_classes, _TWO_OF_PHASE.sub(r"\1: \2, \1_2: \3", text))
    if len(_TWO_SPACED.findall(text)) > 1:  # one may be anything
        text = _TWO_SPACED.sub(r"\1: \2, \1_2: \3, ", text)
    text = _OF_BEST.sub("", text)
    text = _BEFORE_PHASES.sub(r"\2: \1, \4: \3", _OVER_SOME.sub("", _OVER_LAST.sub("", text)))
    return _OF_PHASES.sub(_of_phases, _PART_OF_PHASE.sub(r"\1 \2", text))


def _spaced(match: re.Match[str]) -> str:
    """A counter and its number, which were written as one word."""
    return f"{match[1] or match[2]} {match[3]}"


def _in_words(match: re.Match[str]) -> str:
    """An epoch and what counts in it by a letter: a step may run on through the epochs, a batch begins anew."""
    return f"{match[1]}epoch {match[2]}{match[3]}{'step' if match[4] in 'sS' else 'batch'} {match[5]}"


def _rate_of(match: re.Match[str]) -> str:
    """The rate that was set, by the name of its group."""
    return f"lr_group{match['group']}: " if match["group"] else "lr: "


def _both_phases(match: re.Match[str]) -> str:
    """What is called by its phase alone, with signs."""
    held_out = "heldout" if match[3].lower().startswith("held") else match[3]
    return f"{match[1]}: {match[2]}, {held_out}: {match[4]}"


def _of_phases(match: re.Match[str]) -> str:
    """A quantity before its phases, beside each of them; words that name none are left where they stand."""
    if all(says_no_quantity(word.lower()) for word in match["of"].split(" ")):
        return match[0]
    return f"{match['first']} {match['of']}: {match['one']}, {match['second']} {match['of']}: {match['two']}"


def _of_classes(match: re.Match[str]) -> str:
    """Values that are called by the numbers of classes, with the name of the score before them; they count up by one."""
    classes = [int(number) for number in _NUMBERED.findall(match["rest"])]
    if classes != list(range(classes[0], classes[0] + len(classes))):
        return match[0]
    return match["name"] + match["value"] + _NUMBERED.sub(rf", {match['name']}_\1: ", match["rest"])


def _of_terms(match: re.Match[str]) -> str:
    """A loss that is printed as the sum of its terms, if it is that sum."""
    terms = [float(term) for term in match[3].split("+")]
    total = float(match[2])
    if abs(sum(terms) - total) > SUM_BY * max(abs(total), 1.0):
        return match[0]
    name = "train loss" if match[1] == "train" else match[1]
    return ", ".join([f"{name}: {match[2]}", *(f"loss_term_{i}: {term}" for i, term in enumerate(terms, 1))])


SUM_BY = 0.001
"""By how much of the loss the printed terms may miss it: each is rounded."""


def _each(match: re.Match[str]) -> str:
    """Names in strokes, brackets or a list before their values in the same, each beside its own; as many as there are values."""
    found = {"ahead": "", "behind": "", "paren": "", **match.groupdict("")}
    parted = _COMMA_BETWEEN if "," in found["names"] else _BETWEEN
    names, values = parted.split(found["names"]), _BETWEEN.split(found["values"])
    first = names.pop(0) if len(names) == len(values) + 1 and names[0].lower() in _PHASE_WORDS else ""
    if len(names) != len(values) or all(value.isdigit() for value in values):
        return match[0]
    ahead, noun = found["ahead"], found["behind"]
    if ahead.lower() in _PHASE_WORDS:
        names, ahead = [f"{ahead} {name}" for name in names], ""
    elif not noun and (found["paren"] or all(name.lower() in _STATISTICS for name in names)):
        ahead, noun = "", ahead
    pairs = ", ".join(
        f"{name} {noun}".strip() + f": {value}" for name, value in zip(names, values, strict=True)
    )
    return f"{first or ahead} {pairs}".strip()


def _of_loss(match: re.Match[str]) -> str:
    """A part that is listed below "losses", with its sign; their total is none."""
    return f"{match[1]}: " if match[1] in {"total", "sum"} else f"loss_{match[1]}: "


def _norm_of(match: re.Match[str]) -> str:
    """What is written between strokes is measured by its norm: ``|g|``, ``||w||``."""
    return "grad norm: " if match[1][0] in "gG\u2207" else f"norm of {match[1]}: "


def _at(match: re.Match[str]) -> str:
    """A score and what it is at, as one name."""
    name, at = re.sub(r" ?\((\w+)\)", r"_\1", match["name"]), match["at"].partition(".")[2] or match["at"]
    return f"{name}_class_{at}" if match["of"] == " class" else f"{name}@{at}"


def _in_percent(match: re.Match[str]) -> str:
    """A threshold of overlap in hundredths, as later detectors name it."""
    return "_".join(digits.ljust(2, "0") for digits in match.groups() if digits)
