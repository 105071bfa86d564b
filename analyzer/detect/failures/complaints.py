"""What the exception that ended a run complains of, by the grammar of its message, whichever library raised it.

Patterns of the text layer know sentences; they look through whole logs, so each has to be sure of what it says. Here one
message is read of which it is known that it ended the run. Hence words are enough that would be too common in a log: a name
that looks like a setting beside "must be", a library beside a number of a version. Paths are masked first, for a folder may
bear any name.

=============  =============================================================================================
``version``    a library is there in a version, or in a build, that does not do
``package``    a package is not there
``checkpoint`` what was saved does not fit what it is loaded into
``path``       a file or folder is not there
``access``     a token or a login is missing or was refused
``download``   something could not be fetched
``device``     a device is asked for that is not there
``values``     data hold NaN or infinities
``label``      a label lies outside of the classes
``samples``    the data hold no samples, or parts of a sample do not fit each other
``setting``    a setting was refused: its value, its name, or what it is combined with
=============  =============================================================================================

Anything else is None, first of all what a call says of its tensors: that is a fault of the code that made them.
"""

from __future__ import annotations

from analyzer.lazy_regex import LazyRegex

LOOKED_AT = 400
"""Characters of a message that are read: the complaint comes first, then explanations and dumps of values."""

_PATHS = LazyRegex(r"(?:[a-z]{2,6}:/)?(?<![\w.])/[\w.~{}*-]+(?:/[\w.~{}*-]*)+")

# Libraries of wide use, as far as programs name them beside a version.
_LIBRARY = (
    r"(?:py ?torch|torch\w*|tensorflow|tf|keras|jax(?:lib)?|flax|transformers|accelerate|peft|trl|datasets|tokenizers"
    r"|diffusers"
    r"|deep ?speed|(?:pytorch[- ])?lightning|megatron[\w.-]*|apex|triton|xformers|flash[-_ ]?attn\w*|flash ?attention"
    r"|bitsandbytes|vllm"
    r"|numpy|scipy|pandas|pyarrow|protobuf|cuda|cudnn|nccl|rocm|hip|mpi|gcc|python|mm(?:cv|engine|det)\w*|paddle\w*"
    r"|transformer[- _]?engine"
    r"|optimum\w*|safetensors|ray|gym(?:nasium)?|spacy|wandb|mlflow|h5py|librosa|pillow|opencv\w*|sentencepiece"
    r"|hugging ?face[-_ ]hub)"
)
_NUMBER = r"v?\d{1,4}\.\d{1,3}(?:\.\w{1,6}){0,2}\+?"
_VERSION = LazyRegex(
    rf"(?i)\b{_LIBRARY}[`']?\s{{0,2}}(?:versions? )?(?:>=|<=|==|~=|!=|>|<)\s{{0,2}}v?\d"
    rf"|\b{_LIBRARY}[`']? (?:versions? )?{_NUMBER}[^.]{{0,40}}(?:is|are) (?:required|needed|not supported)"
    rf"|\b(?:requires?|needs?|required|supported (?:by|in|from|on|with|since)|available (?:in|from|since)|upgrade"
    rf"|update|downgrade|use)\b[^.]{{0,60}}?\b{_LIBRARY}[`']? (?:versions? )?(?:of )?(?:at least )?(?:>=? ?)?{_NUMBER}"
    rf"|\bversions? (?:>=?|{_NUMBER}|of at least|at least)\s?[^.]{{0,40}}\b(?:required|needed|higher|later|newer|above)"
    rf"|\brequires?\b[^.]{{0,60}}\bversions? (?:>=?|at least|of at least)? ?{_NUMBER}"
    rf"|\b{_NUMBER} (?:or|and) (?:higher|later|newer|above|greater|up)\b"
    r"|\bversions? of (?:the )?[`']?\w[\w.-]{1,40}[`']? (?:is|are|does|do|installed|must|should|needs?|has)\b"
    r"|\b(?:installed|current|your|this) (?:\w{1,20} )?version\b.{0,60}(?:too old|not support|unsupported"
    r"|not compatible|incompatible|does not|doesn't|lacks|is required)"
    r"|(?<!-)\bversion [^.]{0,40}(?:is (?:too old|too new|unsupported|not supported|incompatible)|is not compatible"
    r"|mismatch)"
    r"|\b(?:[Ww]as|[Hh]as been) (?:removed|dropped)\b[^.]{0,30}(?: (?:in|from|since) (?:version |torch |transformers )?v?\d)"
    r"|`\w{2,60}` (?:class )?has been removed\b"
    rf"|\b(?:[Pp]lease|[Tt]ry to|[Cc]onsider) (?:upgrad|updat|downgrad|reinstall|rebuild"
    rf"|recompil)\w{{1,4}}\b(?! (?:the |your )?(?:config|code|checkpoint|path|argument|setting|script|dataset|file)\w*)"
    rf"|\b(?:up|down)grade (?:your |to |the )?{_LIBRARY}"
    r"|\b(?:not|without) (?:been )?(?:compiled|built) with\b"
    r"|\bwas(?: not|n't) (?:compiled|built) (?:with|for)\b"
    r"|\brequires (?:compiling|building) "
    r"|\b[Bb]uild (?:it )?with [A-Z]\w{2,30}="
    r"|\b[Cc]ompile with [A-Z]\w{2,30}"
    r"|\b(?:extensions?|kernels?|binary|library) (?:is|are|was|were)(?: not|n't) (?:built|compiled)"
)
_OTHER_VERSION = LazyRegex(
    r"(?i)\b(?:checkpoint|dataset|data|format|state.?dict|model|metadata|file|config\w*|policy|param\w*) version"
    r"|version of the (?:checkpoint|dataset|model|data|file)"
    r"|compute capability"
)
_PACKAGE = LazyRegex(
    r"\b(?:pip3?|conda|apt(?:-get)?|uv pip|mim) install\b"
    r"|\b(?:is|are|was|were)(?: not|n't) (?:currently )?installed\b"
    r"|\bnot installed\b"
    r"|\b(?:has|have|needs?|must|should) (?:to )?(?:be |have )?(?:been )?installed\b"
    r"|\b[Yy]ou (?:need|have|must|should) (?:to )?(?:first )?install\b"
    r"|\bneeds? to install\b"
    r"|\b(?:[Pp]lease|[Mm]ake sure to|[Bb]e sure to|[Rr]emember to) (?:first |manually |run )?[\"'`]?install\b"
    r"|\b[Ii]nstall [`']?\w[\w.-]{1,40}[`']? (?:to|first|before|from|for|with|in order)\b"
    r"|\b[Ii]nstall it (?:with|by|from|via|using)\b"
    r"|\b(?:installed first|to be installed)\b"
    r"|\b(?:could|can) ?not import\b"
    r"|\b[Cc](?:ould|a)n'?t import\b"
    r"|\b(?:[Uu]nable|[Ff]ailed) to import\b"
    r"|\brequires (?:the )?[`'\"]?\w[\w.-]{1,40}[`'\"]? (?:library|package|to be installed)\b"
    r"|\b[`'\"]?\w[\w.-]{1,40}[`'\"]? (?:library|package|module) is (?:required|needed|missing|not available)\b"
    r"|\brequires? (?:the )?[`'\"]?(?i:triton|apex|flash[-_ ]?attn|xformers|bitsandbytes|deepspeed|megatron\w{0,8}"
    r"|transformer[- _]?engine|accelerate|peft|scipy|pandas|librosa|faiss|nltk|spacy|sentencepiece|mpi4py"
    r"|horovod)[`'\"]?(?: to be available)?(?:[.,;!]|$)"
    r"|\bmissing (?:required |optional |runtime )?(?:dependency|dependencies|package)\b"
    r"|\b(?:required|optional) (?:dependency|dependencies|package)\b.{0,60}(?:missing|not)"
)
_CHECKPOINT = LazyRegex(
    r"(?i)\b(?:checkpoints?|ckpt|state[_ -]?dicts?|pre-?trained (?:models?|weights|vectors?)|safetensors"
    r"|saved (?:models?|state|weights|arguments?|params|parameters)"
    r"|(?:adapter|lora|model|optimi[sz]er) (?:weights|state))\b.{0,160}?(?:\bmismatch"
    r"|do(?:es)?(?: not|n't) (?:match|contain|have|fit|exist in|include)|\bdid not match|not equal|incompatib"
    r"|\bmissing\b|\bunexpected\b|architectures? match|different (?:number|architecture|shape|size|config)|has no\b"
    r"|must exactly match)"
    r"|\b(?:mismatch|incompatible|missing|unexpected|invalid|wrong) (?:[\w'-]{1,40} ){0,4}(?:in|between|with|for|from"
    r"|when loading|while loading) (?:the )?(?:\w{1,40} ){0,2}(?:checkpoint|state[_ -]?dict|pre-?trained)\b"
    r"|\b(?:missing|unexpected) (?:\w{1,30} )?keys?\b.{0,80}\b(?:checkpoint|state[_ -]?dict)\b"
    r"|\bnot (?:found |present )?in (?:the )?(?:\w{1,40} )?(?:checkpoint|state[_ -]?dict)\b"
    r"|\b(?:load|loading|restor\w{1,5}|resum\w{1,5})\b.{0,60}\b(?:parameters?|weights?|state|keys?|optimizer|model"
    r"|checkpoint)\b.{0,100}(?:\bmismatch|do(?:es)?(?: not|n't) match|\bmissing\b|\bunexpected\b|incompatib)"
)
_RECOMPUTED = LazyRegex(
    r"(?i)utils\.checkpoint"
    r"|\b(?:activation|gradient)[ _-]checkpoint"
    r"|\brecomput"
)  # another kind of checkpoint
_FILE = r"(?:files?|director(?:y|ies)|folders?|paths?|datasets?|corpus|images?|videos?|checkpoints?|archives?|manifests?|index|vocab\w{0,8}|json|csv|yaml|cache|shards?)"
_PATH = LazyRegex(
    rf"(?i)\b(?:{_FILE}|data_?dir|root)\b[^.]{{0,160}}?\b(?:do(?:es)?(?: not|n't)|did not) exist\b"
    rf"|^\W{{0,3}}PATH\W{{0,3}} (?:does(?: not|n't) exist|not found|is missing)"
    rf"|\b(?:{_FILE}|data)\b[^.]{{0,80}}?\b(?:not found|(?:could|can)(?:not|'t| not) be found|was not found"
    rf"|is missing)\b.{{0,4}}(?:in|at|under|on|from|for|[:;.,(]|PATH|$)"
    rf"|\b(?:can ?not|could not|couldn't|can't|unable to|failed to) (?:find|open|locate|read|access) (?:the |any "
    rf"|a )?(?:[\w-]{{1,40}} ){{0,3}}(?:{_FILE}|PATH)\b"
    rf"|\bno (?:such )?(?:[\w-]{{1,40}} ){{0,3}}(?:{_FILE}|data|samples|steps|records?|subfolders)(?:\(s\))? (?:were "
    rf"|was |could be |are |is )?found\b"
    rf"|\bfound (?:0|no) (?:valid )?(?:[\w-]{{1,40}} ){{0,2}}{_FILE}\b"
    rf"|\b(?:is not a|not a valid) (?:valid |existing )?(?:file|directory|path|folder)\b"
    rf"|\b(?:file|directory|path|folder) must exist\b"
    rf"|\bnon-?existent (?:path|file|dir\w{{0,10}})\b"
)
_WRITING = LazyRegex(r"(?i)\b(?:creat|writ|sav)(?:e|ing)\b")

_ACCESS = LazyRegex(
    r"(?i)\b(?:access|auth\w{0,12}|api|hf|hugging ?face|hub)[ _-](?:token|key|credentials?)\b.{0,60}(?:\bnot\b|n't\b"
    r"|missing|invalid|expired|required|denied|refresh)"
    r"|\bno (?:\w{1,20} ){0,2}(?:token|api key|credentials?) (?:was |were )?(?:provided|found|configured|set)\b"
    r"|\b(?:must|need to|have to) be (?:authenticated|logged in)\b"
    r"|\bis a gated (?:repo|dataset|model)"
    r"|\bauthori[sz]ation (?:was |has been )?denied"
    r"|\b(?:401|403)\b.{0,20}\b(?:unauthori[sz]ed|forbidden)\b"
    r"|\bpermission denied for (?:object|bucket)"
)
_DOWNLOAD = LazyRegex(
    r"(?i)\b(?:failed|unable|could not|couldn't|cannot|can't|error)(?: to| while| when)? (?:download|fetch|reach"
    r"|connect to)(?:ing)? (?:the )?(?:file|hugging ?face|hub\b|url|http|data ?set|model|weights|archive|remote|index|PATH)"
    r"|\burl fetch failure\b"
    r"|\bdownload (?:failed|error)\b"
    r"|\bstatus[ _]code:? (?:4\d\d|5\d\d)\b"
    r"|\boffline mode is enabled\b"
)
_DEVICE = LazyRegex(
    r"\b[Nn]o (?:CUDA|cuda|GPUs?|gpus?|TPUs?|NPUs?|XPUs?|HPUs?|MPS)\b[\w -]{0,20}\b(?:found|available|detected|visible"
    r"|devices?|resources)\b"
    r"|\b(?:CUDA|cuda|GPUs?|TPUs?|NPUs?|XPUs?|HPUs?|MPS|mps)(?: devices?)? (?:is|are) (?:un|not )(?:available|detected"
    r"|found|visible)\b"
    r"|\b(?:[Rr]equires?|[Nn]eeds?) (?:a |an |at least (?:one|\d{1,3}) )?(?:CUDA|NVIDIA"
    r"|GPUs?)(?: (?:devices?|GPUs?|available))?(?: to (?:run|train|be)\b|[.,;]|$)"
    r"|\b[Cc]annot use \w{1,20} without (?:CUDA|a GPU)\b"
    r"|\bonly (?:be )?(?:supported|available|run|works?|trained) (?:on|with) (?:CUDA|NVIDIA|a GPU|GPUs?)\b"
)
_VALUES = LazyRegex(
    r"\b(?i:images?|segmentations?|inputs?|data(?: ?sets?| ?frames?)?|features?|columns?|samples?|x|y|labels?|targets?"
    r"|arrays?|buffers?|weights)\b.{0,40}\b(?:contains?|has|have|includes?|holds?)\b.{0,20}\b(?:NaNs?|nans?"
    r"|[Ii]nf(?:inity|s)?|missing values)\b"
)
_LABEL = LazyRegex(
    r"(?i)\blabels?\b.{0,60}\b(?:greater|larger|less|smaller|exceeds?|out of|outside|not (?:in|less)|at least"
    r"|>=?)\b.{0,60}\b(?:num\w{0,8}[ _]?class\w{0,4}|number of (?:classes|labels?\b)|classes|range)"
    r"|\b(?:unknown|invalid) (?:string )?class label\b"
    r"|\bunknown label [\w'\"]"
    r"|\bids? >= ?\d{1,9}, the number of classes"
)
_SAMPLES = LazyRegex(
    r"(?i)\b(?:data ?sets?|data(?: file)?|batch(?:es)?|files|corpus|split|examples|samples|sequences"
    r"|manifest)\b[^.]{0,40}\b(?:is|are|was|were|not be|got) empty\b"
    r"|\bno (?:valid |training |remaining |usable )?(?:examples|samples|data|rows|instances|records|images"
    r"|utterances)\b.{0,20}\b(?:found|left|remain\w{0,4}|after|available|selected)\b"
    r"|\b(?:image|video|audio) (?:features|tokens?)\b.{0,30}\b(?:image|video|audio)? ?(?:tokens?|features) (?:do"
    r"|does)(?: not|n't) match"
    r"|\bnumber of (?:images|videos|audios|image tokens)\b.{0,30}\b(?:does(?: not|n't) match|must match|mismatch)"
)

_NAME = (
    r"(?:(?<![\w-])--?[a-z][\w-]{1,60}"
    r"|`[a-z]\w{1,40}`"
    r"|\b[A-Z]\w{1,40}(?:Config|Trainer|Optimizer|Scheduler)\b"
    r"|\b[a-z][a-z0-9]{0,40}(?:_[a-z0-9]{1,40}){1,8}\b"
    r"|\b[A-Z][A-Z_]{1,30}(?:\.[A-Z_]{2,30}){1,5}\b"
    r"|\b[A-Z][A-Z0-9]{1,30}(?:_[A-Z0-9]{1,30})+\b"
    r"|\b[\w.]{2,60}={1,2}['\"]?[\w.-]{1,40}"
    r"|(?i:\b(?:config\w{0,12}|arguments?|args|options?|flags?|settings?|hyper-?parameters?|learning[ _-]rate|lr"
    r"|batch[ _-]sizes?|optimi[sz]ers?|(?:lr[ _-])?schedulers?|criterion|estimators?|loss(?:es)?|backends?"
    r"|strateg(?:y|ies)|precision|activations?|pooling"
    r"|norm(?:ali[sz]ation)?|padding|modes?|(?:model|data|dataset|device|task|layer|block|attention|loss|encoder"
    r"|decoder|tokenizer|learner) types?|methods?|models?|architectures?|arch|backbones?|heads|layers|experts"
    r"|hidden[ _-]size|embed\w{0,8} (?:size|dim\w{0,8})|parallel\w{0,12}|sequence[ -]length|max[ _-]length"
    r"|steps|epochs?|workers|world[ _]size|devices|momentum|dropout|weight[ _-]decay|betas?|epsilon|group size"
    r"|vocab\w{0,12} size|schedules?|formats?|splits?|metrics?|reduction|interpolation|kernel size|quantization"
    r"|adapters?|lora)\b))"
)
_REFUSED = (
    r"(?:\b(?:must|should|has to|have to|needs? to)\b"
    r"|\b(?:[Cc]an ?not|[Cc]an't|may not) (?:both )?(?:be|use|have|set|specify|enable|combine|provide|pass|exceed|mix"
    r"|change)\b"
    r"|\bcan only (?:be|use)\b"
    r"|\bonly (?:supports?|works?|accepts?|allows?|implemented|available|valid|compatible|supported|one of"
    r"|\w{1,30} (?:is|are) supported)\b"
    r"|\b[Oo]nly (?:the |a )?(?:[\w-]{1,30} ){1,4}(?:is|are) (?:supported|allowed|implemented)\b"
    r"|\bis only (?:supported|available|valid|implemented|compatible)\b"
    r"|\b(?:set|specified|given|defined) (?:both|twice|through both)\b"
    r"|(?:\bnot|n't) (?:currently |yet |officially |fully |a |an )?(?:be )?(?:support(?:ed)?|valid|allowed"
    r"|recogni[sz]ed?|permitted|implemented|understood|registered|compatible|divisible|available|known|possible"
    r"|specified|provided|enabled|one of|in \[|accept)\b"
    r"|\b(?:do|does)(?: not|n't) (?:currently |yet )?(?:support|accept|allow|recogni[sz]e|divide)\b"
    r"|\b(?:doesn't make|does not make|makes no) sense\b"
    r"|\b(?:[Uu]nsupported|[Ii]nvalid|[Uu]nknown|[Uu]nrecogni[sz]ed|[Ii]ncorrect|[Ii]ncompatible|[Uu]nexpected"
    r"|[Ii]llegal|[Ww]rong)\b"
    r"|\b[Mm]utually[- ]exclusive\b"
    r"|\b[Nn]ot both\b"
    r"|\b[Oo]nly one of\b"
    r"|\b[Ee]ither (?:provide|set|specify|use|pass|disable|enable|remove)\b"
    r"|\bis enabled but\b"
    r"|\b[Aa]t (?:least|most) (?:one|\d)"
    r"|\b[Ee]xactly one\b"
    r"|\b[Oo]ne of\b"
    r"|\brequires?\b"
    r"|\b(?:is|are) required\b"
    r"|\b[Ee]xpected one of\b"
    r"|\btoo (?:large|small|long|short|many|few)\b"
    r"|\b(?:smaller|larger|greater|less|bigger|higher|lower) than\b"
    r"|\bexceeds?\b"
    r"|\bdivisible\b"
    r"|\bconflicts?\b"
    r"|\s!= "
    r"|\bto be equal to\b"
    r"|\balready exists?\b.{0,120}overwrite"
    r"|\b[Pp]lease (?:set|specify|provide|choose|use|select|pass|remove|disable|enable)\b"
    r"|\b[Mm]ust (?:specify|provide|set|choose|select)\b)"
)
_SETTING = LazyRegex(rf"(?s)^(?=.{{0,250}}?{_NAME})(?=.{{0,250}}?{_REFUSED})")
# What a call says of what it was handed, and what a class says to those who derive from it.
_OF_A_CALL = LazyRegex(
    r"(?i)\btensors?\b"
    r"|\bshapes?\b"
    r"|\bdtypes?\b"
    r"|\b(?:in|out)put dim"
    r"|(?<!parallel )\bdims?\b"
    r"|\bdimensions?\b"
    r"|\bdimensional\b"
    r"|\bndim\b"
    r"|\bnd?array\b"
    r"|\brank (?:of|must|\d)"
    r"|<class '"
    r"|\binstances?\b"
    r"|isinstance"
    r"|\bcallable\b"
    r"|\bindex(?:es)?\b"
    r"|\bindices\b"
    r"|\bout of (?:bounds|range)"
    r"|\b(?:length|number|size) of (?:the )?(?:input|tensor|list|elements|samples|points)"
    r"|\blist of\b"
    r"|\btuple\b"
    r"|\bdict(?:ionary)?\b"
    r"|\bmust be (?:a |an )?(?:string|str|list|dict|sequence|iterable|module|array|scalar|pandas)\b"
    r"|\binitiali[sz]ed?\b"
    r"|\bcall(?:ed|ing)?\b"
    r"|\binternal\b"
    r"|\bsubclass"
    r"|\boverrid"
    r"|\bgradients?\b"
    r"|\bbackward\b"
    r"|\brequires_grad\b"
    r"|\b(?:input_ids|inputs?_embeds|attention_mask|position_ids|past_key_values?|hidden_states|pixel_values|labels?"
    r"|targets?|logits|masks?|state_dict)\b"
    r"|\bCUDA error\b"
    r"|\bargument \d"
    r"|\bdeserializ"
    r"|\bkeyword arguments?\b"
    r"|\bpositional\b"
    r"|\bsame (?:length|size|type|number|device)"
    r"|\bdevices to be\b"
    r"|\balready (?:registered|been|initiali)"
)
_REFUSING_CLASS = LazyRegex(
    r"(?:^|\.)(?:ValueError|AssertionError|NotImplementedError|KeyError|Exception"
    r"|\w{0,40}(?:Config|Argument|Param|Usage|Unsupported)\w{0,40}|XGBoostError|LightGBMError)$"
)


# What only the settings of a run name, so that any class of exception may speak of them.
_OF_THE_RUN = LazyRegex(
    r"--[a-z]"
    r"|(?i:\b(?:config\w{0,12}|hyper-?parameters?|world[ _]size|\w{0,20}parallel\w{0,8}|optimi[sz]er|scheduler"
    r"|learning[ _]rate|precision|strategy|backend)\b)"
)

# The condition of an assertion that says nothing else.
_CHECKED = LazyRegex(r"\b(?:args?|cfg|conf|config|hparams|opts?|options|flags|FLAGS)\.[a-z]\w+")

# In the order in which they are tried; an expression is compiled for a message that holds one of its hints.
_BY_WORDS: tuple[tuple[str, tuple[str, ...], LazyRegex, LazyRegex | None], ...] = (
    ("version", ("ersion", "=", "<", ">", "equire", "grad", "pdat", "buil", "compil", "emoved", "higher", "later"), _VERSION, _OTHER_VERSION),
    ("package", ("nstall", "mport", "equire", "ackage", "epend", "ibrary", "odule"), _PACKAGE, None),
    ("checkpoint", ("heckpoint", "ckpt", "tate", "rained", "eight", "aved", "oad", "esum", "estor", "safetensors"), _CHECKPOINT, _RECOMPUTED),
    ("access", ("oken", "key", "redential", "authenticated", "logged in", "gated", "denied", "nauthori", "orbidden"), _ACCESS, None),
    ("device", ("CUDA", "cuda", "GPU", "gpu", "TPU", "NPU", "XPU", "HPU", "MPS", "mps", "NVIDIA"), _DEVICE, _OTHER_VERSION),
    ("values", ("nan", "NaN", "nf", "missing values"), _VALUES, None),
    ("label", ("abel", "classes"), _LABEL, None),
    ("path", ("exist", "ound", "find", "open", "locat", "read", "access", "not a ", "missing"), _PATH, _WRITING),
    ("samples", ("empty", "match", "no ", "No "), _SAMPLES, None),
    ("download", ("ownload", "etch", "each", "onnect", "tatus", "ffline"), _DOWNLOAD, None),
)  # fmt: skip


def complaint(kind: str, message: str) -> str | None:
    """What an exception of some kind complains of, one of the words above.

    >>> complaint("ValueError", "acme_mode must be one of 'fast', 'slow', got 'slwo'")
    'setting'
    >>> complaint("ValueError", "Expected a tensor of shape (8, 16), got (8, 12)")
    """
    text = _PATHS.sub("PATH", " ".join(message[:LOOKED_AT].split()))
    for word, hints, says, unless in _BY_WORDS:
        if any(hint in text for hint in hints) and says.search(text) and not (unless and unless.search(text)):
            return word
    refused = (
        ((_REFUSING_CLASS.search(kind) or _OF_THE_RUN.search(text)) and _SETTING.search(text))
        or (kind == "AssertionError" and _CHECKED.search(text))
    ) and not _OF_A_CALL.search(text)
    return "setting" if refused else None
