"""The events: what a line of a log, or a reader in code, can say; declared once, in ``ingest/text/events/*/*.yaml``.

One file a family of lines. ``events`` declares the kinds, ``patterns`` how a line is recognised, in the order in which
they are tried::

    events:
      disk_full:                        # the kind; facts are event.disk_full.seen, .count, .path, …
        says: a disk or quota is full   # the sentence it reads as
        role: root_candidate            # one of ROLES; a list if each pattern or reader says which
        family: host                    # optional, one of FAMILIES: how such a line ends a run
        fields: {path: str}             # everything that its patterns capture; ``host`` is known of every event
    patterns:
    - kind: disk_full
      literals: ['No space left']       # one of these stands in every such line
      regex: 'No space left on device'  # a list stands for "any of these"
      more: ['device: (?P<path>.{1,99})']
      example: 'OSError: No space left on device: /out'

``pieces`` name what several expressions share (written ``${NAME}``; a list stands for its items in ``more``),
``tables`` are named under ``words``, ``field_sets`` under ``with``. ``${NUMBER}``, ``${SIZE}``, ``${OWN_HOST}``, ``${WEB_API}`` and ``${LOCAL}`` are known
everywhere.
The declarations stand beside the patterns, not in this package, so that a new line touches one file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from analyzer.errors import RuleSyntaxError, did_you_mean, nearest
from analyzer.lazy_regex import LazyRegex
from analyzer.record import NamedTuple
from analyzer.vocabulary import cache
from analyzer.vocabulary.marked import MarkedFile, load_marked, shown_path
from analyzer.vocabulary.packs import declared_in_packs, load_own, refuse_foreign_names, remembered
from analyzer.vocabulary.sections import check_expression, check_section, json_schema, one_of

ROLES = ("root_candidate", "symptom", "cascade", "teardown", "advice", "info")

FAMILIES = ("hardware", "host", "exception", "device", "numeric", "memory", "peers", "cleanup")
"""From causes to consequences; the last two never come first if one of the others was seen."""

FIELD_TYPES: Mapping[str, str] = {
    "int": "int", "float": "float", "bool": "bool", "str": "str", "lower": "str", "gib": "float",
}  # fmt: skip
"""Type of a field to the type of its fact: ``lower`` is a word in lower case, ``gib`` a size in GiB."""

COMMON_FIELDS: Mapping[str, str] = {"host": "str"}
"""Fields of every event: a prefix or the line itself may name the host."""

EVENT_FACTS: Mapping[str, tuple[str, str]] = {
    "seen": ("bool", "such a line was found"),
    "count": ("int", "number of such lines"),
    "first_step": ("int", "first step of such a line"),
    "last_step": ("int", "last step of such a line"),
    "is_last_error": ("bool", "it is the last error line of the log"),
    "ranks": ("int", "number of ranks that print such a line"),
    "is_first_failure": ("bool", "it is the failure that came first"),
    "is_consequence": ("bool", "another failure came first and explains it"),
    "survived": ("bool", "training went on after every such line"),
}
"""Type and meaning of the facts of every kind; no field may bear such a name."""

NUMBER = r"[-+]?\d{1,40}(?:\.\d{0,40})?(?:[eE][-+]?\d{1,4})?"
"""A finite number inside a pattern."""

SIZE = r"\d{1,18}(?:\.\d{1,6})? ?(?:[KMGT]i?B|bytes)"
"""A size with its unit inside a pattern."""

OWN_HOST = (
    r"(?:localhost|\d{1,3}(?:\.\d{1,3}){3}"
    r"|(?![\w.-]{0,60}(?:minio|s3|stor|hdfs|ceph|oss|mirror|cdn|hub|data|cache|proxy|namenode))"
    r"[a-z][a-z0-9_-]{1,60}(?:(?:\.[a-z0-9-]{1,60}){1,2}\.svc(?:\.[a-z]{1,20}){0,3})?)"
)
"""A server of the job's own network inside a pattern: an address, or a name without a domain; stores have such names too."""

WEB_API = r"(?:api(?:-[a-z0-9-]{1,20})?|hooks|dashscope|generativelanguage)\.(?!wandb\.|neptune\.|comet\.|swan|clear\.|github\.|wit\.|roboflow\.|ngc\.|figshare\.|osf\.|kaggle\.|zenodo\.)[a-z0-9.-]{3,60}"
"""The name of a server on the web that answers calls of a program, as models and messengers have it. Trackers have such names
too, and so have stores of data, of which those that many download from are left out."""

LOCAL = r"(?<![\d.])(?P<local>(?:172\.17\.|192\.168\.122\.|127\.0\.1\.1\b)[\d.]{0,7})"
"""An address that each host gives itself: on the first bridge of Docker and of libvirt, and what Debian names the host by."""

FIELDS: Mapping[str, Mapping[str, tuple[str, bool]]] = {
    "file": {"events": ("map", False), "field_sets": ("map", False), "pieces": ("map", False), "tables": ("map", False), "patterns": ("list", False)},
    "event": {"says": ("str", True), "role": ("texts", True), "family": ("str", False), "fields": ("map", False), "with": ("str", False)},
    "patterns": {
        "kind": ("str", True), "role": ("str", False), "literals": ("list", True), "regex": ("texts", True),
        "more": ("list", False), "unless": ("texts", False), "words": ("map", False), "once": ("bool", False),
        "example": ("texts", True),
    },
}  # fmt: skip

PACK_FILE = "events.yaml"
"""Where a rule pack declares events of its own, see ``packs``."""

_KEPT = "says roles family fields topic"
"""What is kept of a declaration."""

_GLOBAL_PIECES: Mapping[str, str] = {
    "NUMBER": NUMBER,
    "SIZE": SIZE,
    "OWN_HOST": OWN_HOST,
    "WEB_API": WEB_API,
    "LOCAL": LOCAL,
}
_PIECE = LazyRegex(r"\$\{(\w+)\}")
_GROUP = LazyRegex(r"\(\?P<(\w+)>")
_KIND = LazyRegex(r"[a-z][a-z0-9_]{1,60}")


class EventSpec(NamedTuple):
    """Declaration of one kind of event."""

    kind: str  # its name
    says: str  # the sentence it reads as
    roles: tuple[str, ...]  # the parts that it can play, see ``ROLES``
    family: str  # one of ``FAMILIES``; empty if its role tells, or if it ends no run
    fields: Mapping[str, str]  # name to type, see ``FIELD_TYPES``; without ``COMMON_FIELDS``
    topic: str  # the file that declares it

    def field_type(self, name: str) -> str | None:
        """Type of a field's fact, or None if no such field is declared."""
        declared = self.fields.get(name) or COMMON_FIELDS.get(name)
        return None if declared is None else FIELD_TYPES[declared]


def event_schema() -> dict[str, Any]:
    """JSON Schema of a file of events."""
    schema = json_schema(FIELDS, "analyzer.events/1", "file", {})
    event = json_schema(FIELDS, "", "event", {"family": FAMILIES})
    schema["properties"]["events"] = {
        "type": "object",
        "additionalProperties": {
            key: event[key] for key in ("type", "properties", "required", "additionalProperties")
        },
    }
    return schema


def event_files() -> list[Path]:
    """The files that come with analyzer, in the order of their names, whatever room they stand in."""
    rooms = Path(__file__).parent.parent / "ingest" / "text" / "events"
    return sorted(rooms.rglob("*.yaml"), key=lambda path: path.name)


@remembered
def events_key() -> str:
    """Key of what the declared events mean, for whatever is kept that depends on them."""
    return cache.key_of([*event_files(), *declared_in_packs(PACK_FILE)], f"{FIELDS}{_GLOBAL_PIECES}", _KEPT)


@remembered
def _data() -> Mapping[str, Any]:
    """Declarations and patterns of all files, as plain data."""
    data: Mapping[str, Any] | None = cache.read("events", events_key())
    if data is None:
        files = [load_marked(path.read_text(encoding="utf-8"), shown_path(path)) for path in event_files()]
        data = read_events([*files, *map(_of_pack, declared_in_packs(PACK_FILE))])
        cache.write("events", events_key(), data)
    return data


def _of_pack(path: Path) -> MarkedFile:
    file, prefix = load_own(path)
    refuse_foreign_names(file, "events", f"{prefix}_")
    return file


@remembered
def event_specs() -> Mapping[str, EventSpec]:
    """All declared kinds by name."""
    return {
        kind: EventSpec(kind, says, tuple(roles), family, fields, topic)
        for kind, (says, roles, family, fields, topic) in _data()["events"].items()
    }


def said(kind: str) -> str:
    """The sentence that an event reads as; the words of its name if nobody declared it.

    >>> said("disk_full"), said("of_an_older_pack")
    ('a disk or quota is full', 'of an older pack')
    """
    spec = event_specs().get(kind)
    return kind.replace("_", " ") if spec is None else spec.says


def events_of(**wanted: Collection[str]) -> list[str]:
    """The declared kinds of which each named trait has one of the given values.

    Raises:
        ValueError: A trait or a value is that of no event.

    >>> "disk_full" in events_of(topic=["storage"], role=["root_candidate"])
    True
    """
    traits = {
        kind: {"role": spec.roles, "family": (spec.family,), "topic": (spec.topic,)}
        for kind, spec in event_specs().items()
    }
    for trait, values in wanted.items():
        known = {value for each in traits.values() for value in each.get(trait, ())}
        for word, names in ((trait, ("role", "family", "topic")), *((value, known) for value in values)):
            if word not in names:
                raise ValueError(f"{word!r}{did_you_mean(nearest(word, names))}")
    return [
        kind
        for kind, each in traits.items()
        if all(set(each[trait]) & set(values) for trait, values in wanted.items())
    ]


def pattern_rows() -> Sequence[Sequence[Any]]:
    """Kind, role, literals, regex, types of fields, more, unless, words, once: of each pattern."""
    rows: Sequence[Sequence[Any]] = _data()["patterns"]
    return rows


def read_events(files: Iterable[MarkedFile]) -> dict[str, Any]:
    """Check files of events, and make plain data of them.

    Args:
        files: Loaded files; a pattern may be of a kind that another file declares.

    Raises:
        RuleSyntaxError: One is not as described above; with line and column.
    """
    loaded = [(file, check_section(file, FIELDS, "file", file.data, ())) for file in files]
    sets = {name: fields for _, data in loaded for name, fields in data.get("field_sets", {}).items()}
    events: dict[str, Any] = {}
    for file, data in loaded:
        for kind, row in _declarations(file, data, sets):
            if kind in events:
                raise RuleSyntaxError(f"event {kind!r} is declared twice", file.where("events", kind))
            events[kind] = row
    return {
        "events": events,
        "patterns": [row for file, data in loaded for row in _patterns(file, data, events)],
    }


def _declarations(
    file: MarkedFile, data: Mapping[str, Any], sets: Mapping[str, Any]
) -> Iterator[tuple[str, list[Any]]]:
    for kind, item in data.get("events", {}).items():
        keys = ("events", kind)
        if not _KIND.fullmatch(kind):
            raise RuleSyntaxError("an event is named by lower-case words and _", file.where(*keys))
        row = check_section(file, FIELDS, "event", item, keys)
        roles = [row["role"]] if isinstance(row["role"], str) else row["role"]
        for role in roles:
            one_of(file, role, ROLES, *keys, "role")
        if "family" in row:
            one_of(file, row["family"], FAMILIES, *keys, "family")
        fields = {**_named(file, row.get("with"), sets, (*keys, "with")), **row.get("fields", {})}
        for field, name in fields.items():
            if field in EVENT_FACTS:
                raise RuleSyntaxError(
                    f"every event has a fact {field!r}; give the field another name",
                    file.where(*keys, "fields", field),
                )
            one_of(file, name, tuple(FIELD_TYPES), *keys, "fields", field)
        yield kind, [row["says"], roles, row.get("family", ""), fields, Path(file.path).stem]


def _patterns(file: MarkedFile, data: Mapping[str, Any], events: Mapping[str, Any]) -> Iterator[list[Any]]:
    pieces = {**_GLOBAL_PIECES, **data.get("pieces", {})}
    tables = data.get("tables", {})
    for index, item in enumerate(data.get("patterns", [])):
        keys = ("patterns", index)
        row = check_section(file, FIELDS, "patterns", item, keys)
        if row["kind"] not in events:
            hint = did_you_mean(nearest(row["kind"], events), "; add it to events")
            raise RuleSyntaxError(f"no event is called {row['kind']!r}{hint}", file.where(*keys, "kind"))
        _, roles, _, types, _ = events[row["kind"]]
        more = [
            text for part in row.get("more", []) for text in _spliced(file, part, pieces, (*keys, "more"))
        ]
        regex = _expression(file, row["regex"], pieces, (*keys, "regex"))
        more = [_expression(file, text, pieces, (*keys, "more")) for text in more]
        for group in _GROUP.findall("".join([regex, *more])):
            if group not in types and group not in COMMON_FIELDS:
                hint = did_you_mean(nearest(group, types))
                raise RuleSyntaxError(
                    f"event {row['kind']!r} declares no field {group!r}{hint}", file.where(*keys, "regex")
                )
        role = row.get("role", roles[0])
        if role not in roles or ("role" not in row and len(roles) > 1):
            raise RuleSyntaxError(f"needs a role of {', '.join(roles)}", file.where(*keys, "role"))
        words = {
            group: _named(file, name, tables, (*keys, "words", group))
            for group, name in row.get("words", {}).items()
        }
        unless = _expression(file, row.get("unless", ""), pieces, (*keys, "unless"))
        named = {
            group: types[group]
            for group in _GROUP.findall("".join([regex, *more]))
            if types.get(group, "str") != "str"
        }
        yield [row["kind"], role, row["literals"], regex, named, more, unless, words, row.get("once", False)]


def _named(
    file: MarkedFile, name: str | None, tables: Mapping[str, Any], keys: tuple[str | int, ...]
) -> Mapping[str, str]:
    """A table of the file by its name."""
    if name is None:
        return {}
    if name not in tables:
        raise RuleSyntaxError(f"no table is called {name!r}", file.where(*keys))
    found: Mapping[str, str] = tables[name]
    return found


def _spliced(
    file: MarkedFile, part: str, pieces: Mapping[str, Any], keys: tuple[str | int, ...]
) -> Sequence[str]:
    """One item of ``more``, or the items of the list that it names."""
    named = _PIECE.fullmatch(part)
    if named is None:
        return [part]
    if named[1] not in pieces:
        raise RuleSyntaxError(f"no piece is called {named[1]!r}", file.where(*keys))
    found = pieces[named[1]]
    return found if isinstance(found, list) else [part]


def _expression(
    file: MarkedFile, text: str | list[str], pieces: Mapping[str, Any], keys: tuple[str | int, ...]
) -> str:
    """A regular expression with its pieces filled in; of a list, any of its items."""

    def fill(found: re.Match[str]) -> str:
        piece = pieces.get(found[1])
        if not isinstance(piece, str):
            raise RuleSyntaxError(f"no piece is called {found[1]!r}", file.where(*keys))
        return _PIECE.sub(fill, piece)

    return check_expression(file, _PIECE.sub(fill, text if isinstance(text, str) else "|".join(text)), *keys)
