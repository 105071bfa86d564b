"""Find and load rule packs, and check their conditions against the catalogue of facts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from analyzer.errors import RuleError, UnknownFactError
from analyzer.expr import Condition
from analyzer.facts.catalog import catalog, spec_of, suggest
from analyzer.rules import cache
from analyzer.rules.causes import rules_root
from analyzer.rules.schema import FIELDS, Rule, read_rule
from analyzer.rules.yaml_marks import MarkedFile, load_marked
from analyzer.version import __version__


@dataclass(frozen=True, slots=True)
class RuleSet:
    """All rules in use, and a digest of the files that they were read from."""

    rules: tuple[Rule, ...]
    digest: str

    def by_id(self, word: str) -> Rule | None:
        """A rule by id, slug, alias or cause id."""
        for rule in self.rules:
            if word in {rule.id, rule.slug, rule.entry.id, *rule.aliases}:
                return rule
        return None


def rule_files(place: Path) -> list[Path]:
    """All ``rule.yaml`` files under a pack directory, or the file itself.

    Raises:
        RuleError: There is no rule there.
    """
    if place.is_file():
        return [place]
    files = sorted(place.rglob("rule.yaml"))
    if not files:
        raise RuleError("no rule.yaml found under this path", str(place))
    return files


def _shown(path: Path) -> str:
    """Path as a user types it: relative to the working directory where possible."""
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()


def load_rule(path: Path) -> Rule:
    """Load one rule and check that every fact it names exists.

    Raises:
        RuleError: The file cannot be read or is invalid.
    """
    return parse_rule(_text(path), _shown(path))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RuleError(f"cannot be read: {error}", _shown(path)) from error


def parse_rule(text: str, shown: str) -> Rule:
    """Read and check the text of one rule; ``shown`` is its path in messages.

    Raises:
        RuleError: The rule is invalid.
    """
    rule = read_rule(load_marked(text, shown))
    for where, condition in rule.conditions():
        for name in condition.names:
            if spec_of(name) is None:
                near = suggest(name)
                hint = f"; did you mean {near!r}?" if near else "; see `analyzer rules facts`"
                raise UnknownFactError(f"no fact is called {name!r}{hint}", where)
    return rule


def load_rules(extra: Sequence[Path] = (), *, bundled: bool = True) -> RuleSet:
    """The bundled rules and those of further packs; a pack may not reuse an id.

    Raises:
        RuleError: A pack is missing or a rule is invalid.
    """
    files = rule_files(rules_root()) if bundled else []
    for place in extra:
        if not place.exists():
            raise RuleError("no such rule pack", str(place))
        files += rule_files(place)
    key = _key(files)
    known = cache.read(key, len(files))
    texts = [] if known else [_text(path) for path in files]
    read = [
        read_rule(MarkedFile(_shown(path), data, {}, checked=True), Condition)
        for path, data in zip(files, known.rules if known else [], strict=False)
    ] or [parse_rule(text, _shown(path)) for path, text in zip(files, texts, strict=True)]
    rules: dict[str, Rule] = {}
    for rule in read:
        if rule.id in rules:
            raise RuleError(f"id {rule.id} is already used by {rules[rule.id].where()}", rule.where("id"))
        rules[rule.id] = rule
    if known is None:
        digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]
        known = cache.CheckedRules(digest, [rule.file.data if rule.file else None for rule in read])
        cache.write(key, known)
    return RuleSet(_sorted(rules.values()), known.digest)


def _key(files: Sequence[Path]) -> str:
    """Key of everything that decides what the rules mean: the files, the facts, the reader."""
    digest = hashlib.sha256(f"{__version__}\0{','.join(catalog())}\0{FIELDS}".encode())
    for path in files:
        state = path.stat()
        digest.update(f"\0{path.resolve()}\0{state.st_size}\0{state.st_mtime_ns}".encode())
    return digest.hexdigest()


def _sorted(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    return tuple(sorted((rule for rule in rules if rule.status != "deprecated"), key=lambda rule: rule.id))
