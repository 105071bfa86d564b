"""Find and load rule packs, and check their conditions against the catalogue of facts."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import cache as once
from functools import partial
from pathlib import Path

from analyzer.digest import sha256
from analyzer.errors import RuleError, RuleSyntaxError, did_you_mean, nearest
from analyzer.expr import Condition, compile_condition
from analyzer.expr.conditions import FORM, Named
from analyzer.facts.catalog import catalog
from analyzer.record import NamedTuple
from analyzer.rules.causes import PACK_FILE, SYMPTOM_KINDS, catalogue, rules_root
from analyzer.rules.fixing.shared_fixes import FILE_NAME as FIXES
from analyzer.rules.fixing.shared_fixes import SharedFixes, bundled_fixes, fixes_for, with_shared
from analyzer.rules.gates import FILE_NAME as GATES
from analyzer.rules.gates import Gates, bundled_gates, gates_for, naming, refuse_unknown_facts
from analyzer.rules.schema import FIELDS, Rule, read_rule
from analyzer.vocabulary import cache, packs
from analyzer.vocabulary.config import is_setting, nearest_setting
from analyzer.vocabulary.events import event_specs, events_key
from analyzer.vocabulary.frameworks import frameworks
from analyzer.vocabulary.marked import MarkedFile, load_marked, shown_path, text_of
from analyzer.vocabulary.packs import PACKS, installed


class RuleSet(NamedTuple):
    """All rules in use, and a digest of the files that they were read from.

    A rule that comes from the cache is built when it is first needed: of more than two hundred a run brings a
    dozen into question.
    """

    digest: str  # digest of the text of all rule files, as reports show it
    sources: tuple[RuleSource, ...]  # where each rule comes from, by its id; deprecated ones are left out
    packs: tuple[str, ...] = ()  # name and version of each pack beside the bundled one
    left_out: tuple[str, ...] = ()  # a sentence for each installed pack that cannot be used

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Every rule, by id."""
        return tuple(source.rule for source in self.sources)

    def in_question(self, facts: Collection[str]) -> tuple[Rule, ...]:
        """Rules whose gate can be true: a gate that mentions facts of which none is known stays unknown."""
        return tuple(
            source.rule for source in self.sources if not source.gate or not source.gate.isdisjoint(facts)
        )

    def by_id(self, word: str) -> Rule | None:
        """A rule by id, slug or cause id; of several faces of a cause the one that is called like it."""
        for source in self.sources:
            if word in (source.id, source.slug):
                return source.rule
        return next((source.rule for source in self.sources if source.cause_id == word), None)


class RuleSource(NamedTuple):
    """One rule file."""

    id: str  # id of the rule
    slug: str  # its name
    cause_id: str  # the cause that it names
    status: str  # as the rule states it
    gate: frozenset[str]  # facts that its gate mentions
    made: Callable[[], Rule]  # makes the rule, once

    @property
    def rule(self) -> Rule:
        """The rule, checked."""
        return self.made()


def rule_files(place: Path) -> list[Path]:
    """All ``rule.yaml`` files under a pack directory, or the file itself.

    Raises:
        RuleError: There is no rule there.
    """
    if place.is_file():
        return [place]
    files: list[str] = []
    rest = [str(place)]
    while rest:
        folder = rest.pop()
        if os.path.isfile(path := f"{folder}/rule.yaml"):  # noqa: PTH113  (hundreds of them at every start)
            files.append(path)  # its cases hold no rules
            continue
        with suppress(OSError), os.scandir(folder) as entries:
            rest += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    if not files:
        raise RuleError("no rule.yaml found under this path", str(place))
    files.sort(key=lambda path: path.split("/"))  # as paths sort, which take long to compare
    return [Path(path) for path in files]


def load_rule(path: Path) -> Rule:
    """Load one rule and check that every fact it names exists.

    Raises:
        RuleError: The file cannot be read or is invalid.
    """
    return parse_rule(text_of(path, shown_path(path)), shown_path(path), gates_for(path), fixes_for(path))


def parse_rule(text: str, shown: str, gates: Gates | None = None, fixes: SharedFixes | None = None) -> Rule:
    """Read and check the text of one rule.

    Args:
        text: Content of the file.
        shown: Its path in messages.
        gates: Named conditions that it may mention; the bundled ones if None.
        fixes: Shared fixes that it may use; the bundled ones if None.

    Raises:
        RuleError: The rule is invalid.
    """
    known = bundled_gates() if gates is None else gates
    file = with_shared(load_marked(text, shown), bundled_fixes() if fixes is None else fixes)
    rule = read_rule(file, partial(compile_condition, named=naming(known)))
    for _, condition in rule.conditions():
        refuse_unknown_facts(condition)
    _refuse_undeclared_settings(rule)
    for index, word in enumerate(rule.explains_also):
        words = (*SYMPTOM_KINDS, *catalogue())
        if word not in words:
            hint = did_you_mean(nearest(word, words))
            where = rule.where("explains_also", index)
            raise RuleSyntaxError(f"no cause or kind of symptom is called {word!r}{hint}", where)
    return rule


def _refuse_undeclared_settings(rule: Rule) -> None:
    """Every framework and every setting that a fix changes is declared.

    Raises:
        RuleSyntaxError: One is not; with the nearest that is.
    """
    for index, fix in enumerate(rule.fixes):
        for framework, settings in fix.change.items():
            if framework not in frameworks():
                near = nearest(framework, frameworks())
                hint = did_you_mean(near, "; they stand in vocabulary/frameworks.yaml")
                where = rule.where("fixes", index, "change", framework)
                raise RuleSyntaxError(f"no framework is called {framework!r}{hint}", where)
            for key in settings:
                if not is_setting(framework, key):
                    near = nearest_setting(framework, key)
                    hint = did_you_mean(near, "; they stand in vocabulary/config.yaml")
                    where = rule.where("fixes", index, "change", framework, key)
                    raise RuleSyntaxError(f"{framework} has no setting {key!r}{hint}", where)


def load_rules(extra: Sequence[Path] = (), *, bundled: bool = True) -> RuleSet:
    """The bundled rules and those of further packs; a pack may not reuse an id.

    A pack that another package installed and that cannot be used is left out; one that the caller names is an error.

    Raises:
        RuleError: A pack is missing or written for other rules, or a rule is invalid.
    """
    packs.use(extra)
    try:
        return _load(extra, bundled=bundled)
    except (RuleError, OSError):
        broken = _broken_packs()
        if not broken:
            raise
    packs.use(extra)
    packs.leave_out(broken)
    return _load(extra, bundled=bundled)


def _broken_packs() -> dict[str, str]:
    """Why an installed pack cannot be used, by its name: each is tried beside the bundled rules and those before it."""
    names = [name for name, _ in installed(PACKS)]
    found: dict[str, str] = {}
    packs.use(())
    for tried, name in enumerate(names, 1):
        packs.leave_out({**found, **dict.fromkeys(names[tried:], "")})
        try:
            _load((), bundled=True)
        except (RuleError, OSError) as error:
            found[name] = str(error)
    packs.leave_out({})
    return found


def _load(extra: Sequence[Path], *, bundled: bool) -> RuleSet:
    """The rules of all packs that count."""
    versions = packs.versions_in_use()
    places = [*([rules_root(), *packs.installed_packs()] if bundled else []), *extra]
    files: list[Path] = []
    gates: list[Gates] = []
    for place in places:
        if not place.exists():
            raise RuleError("no such rule pack", str(place))
        found = rule_files(place)
        files += found
        gates += [gates_for(place)] * len(found)
    meant = {name: gate.when.text for each in gates for name, gate in each.items()}
    beside = [
        *packs.declared_in_packs(PACK_FILE),
        *(
            path
            for place in places
            for name in (GATES, FIXES)
            if (path := packs.pack_of(place) / name).is_file()
        ),
    ]
    key = cache.key_of([*files, *beside], ",".join(catalog()), str(FIELDS), events_key(), str(meant), FORM)
    known = _cached(key, files, gates)
    if known is None:
        known = _read_all(files, gates, beside)
        rows = [
            [source.id, source.slug, source.cause_id, source.status, sorted(source.gate)]
            for source in known.sources
        ]
        texts = [_written(source.rule) for source in known.sources]
        cache.write("rules", key, {"digest": known.digest, "rules": rows}, texts)
    first: dict[str, RuleSource] = {}
    for source in known.sources:
        if first.setdefault(source.id, source) is not source:
            raise RuleError(
                f"id {source.id} is already used by {first[source.id].rule.where()}", source.rule.where("id")
            )
    used = (first[name] for name in sorted(first) if first[name].status != "deprecated")
    return RuleSet(known.digest, tuple(used), versions, packs.left_out())


class _CheckedRules(NamedTuple):
    """Rules that were read and checked."""

    digest: str  # digest of the text of all rule files, as reports show it
    sources: tuple[RuleSource, ...]  # the rules, in the order of the files


def _written(rule: Rule) -> str:
    """What is kept of a rule: the content of its file and its conditions, parsed, by their texts."""
    assert rule.file is not None
    return json.dumps([rule.file.data, {one.text: one.form for _, one in rule.conditions()}])


def _checked_rule(path: Path, text: bytes, named: Named) -> Rule:
    """The rule of which that was kept."""
    data, forms = json.loads(text)

    def condition(text: str, where: str) -> Condition:
        return Condition(text.strip(), where, named, forms[text.strip()])

    return read_rule(MarkedFile(str(path), data, {}, checked=True), condition)


def _cached(key: str, files: Sequence[Path], gates: Sequence[Gates]) -> _CheckedRules | None:
    """What was kept under a key, or None if it is not whole: one rule per file."""
    data, texts = cache.read_with_texts("rules", key)
    try:
        sources = tuple(
            RuleSource(
                name,
                slug,
                cause,
                status,
                frozenset(gate),
                once(partial(_checked_rule, path, text, naming(names))),
            )
            for (name, slug, cause, status, gate), path, text, names in zip(
                data["rules"], files, texts, gates, strict=True
            )
        )
        return _CheckedRules(str(data["digest"]), sources)
    except (LookupError, TypeError, ValueError):
        return None


def _itself(rule: Rule) -> Rule:
    return rule


def _read_all(files: Sequence[Path], gates: Sequence[Gates], beside: Sequence[Path]) -> _CheckedRules:
    """Read and check rule files; what stands beside them belongs to the digest."""
    texts = [text_of(path, shown_path(path)) for path in files]
    bundled, read = rules_root(), dict[Path, Rule]()
    event_specs()  # what a pack declares is checked before what it says with it
    every = zip(files, texts, gates, strict=True)
    # a mistake in a pack is told before hundreds of bundled rules are read, which takes a second
    for path, text, named in sorted(every, key=lambda each: each[0].is_relative_to(bundled)):
        read[path] = parse_rule(text, shown_path(path), named, fixes_for(path))
    rules = [read[path] for path in files]
    sources = tuple(
        RuleSource(
            rule.id, rule.slug, rule.entry.id, rule.status, frozenset(rule.when.names), partial(_itself, rule)
        )
        for rule in rules
    )
    digest = sha256(
        "\0".join([*texts, *(text_of(path, shown_path(path)) for path in beside)]).encode()
    ).hexdigest()[:12]
    return _CheckedRules(digest, sources)
