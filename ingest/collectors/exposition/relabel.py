"""Relabelling of targets, with all actions of Prometheus.

Source of their meaning: Prometheus, ``model/relabel/relabel.go``.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from common.patterns import VALUE_CHARS_MAX, compile_bounded

DEFAULT_REGEX = "(.*)"
_LABEL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_REFERENCE = re.compile(r"\$(?:(\$)|\{(\w+)\}|(\w+))")


class Action(StrEnum):
    REPLACE = "replace"
    KEEP = "keep"
    DROP = "drop"
    KEEPEQUAL = "keepequal"
    DROPEQUAL = "dropequal"
    HASHMOD = "hashmod"
    LOWERCASE = "lowercase"
    UPPERCASE = "uppercase"
    LABELMAP = "labelmap"
    LABELDROP = "labeldrop"
    LABELKEEP = "labelkeep"


_OF_NAMES = frozenset((Action.LABELMAP, Action.LABELDROP, Action.LABELKEEP))
_WITHOUT_TARGET = _OF_NAMES | {Action.KEEP, Action.DROP}


def _is_label_name(name: str) -> str:
    if _LABEL_NAME.fullmatch(name) is None:
        raise ValueError(f"label {name[:80]!r}: expected letters, digits and _, no digit first")
    return name


LabelName = Annotated[str, AfterValidator(_is_label_name)]


class RelabelConfig(BaseModel):
    """One rule. The pattern has to match the whole of the joined source labels."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source_labels: tuple[str, ...] = Field(default=(), description="Labels whose values are joined.")
    separator: str = Field(default=";", description="Text between them.")
    regex: str = Field(
        default=DEFAULT_REGEX,
        description="Pattern for the joined values, or for label names (labelmap, labeldrop, labelkeep).",
    )
    target_label: str = Field(
        default="", description="Label that the action writes, or compares with (keepequal, dropequal)."
    )
    replacement: str = Field(default="$1", description="Text with $1 or ${1} for the pattern's groups, $$ for a $.")
    modulus: int = Field(default=0, ge=0, description="Of the hash of the joined values (hashmod).")
    action: Action = Field(default=Action.REPLACE, description=f"One of {', '.join(Action)}.")

    @field_validator("regex")
    @classmethod
    def _compiles(cls, regex: str) -> str:
        compile_bounded(regex)
        return regex

    @model_validator(mode="after")
    def _has_what_its_action_needs(self) -> Self:
        if self.action not in _WITHOUT_TARGET and not self.target_label:
            raise ValueError(f"target_label: the action {self.action} needs one")
        if self.target_label and not (self.action is Action.REPLACE and "$" in self.target_label):
            _is_label_name(self.target_label)
        if (self.action is Action.HASHMOD) != bool(self.modulus):
            raise ValueError("modulus: above 0 with the action hashmod, and with no other one")
        return self


def relabel(labels: Mapping[str, str], rules: Iterable[RelabelConfig]) -> dict[str, str] | None:
    """The labels after all rules; None when a rule drops the target. ValueError for labels of which a rule would take
    too long to decide."""
    result = dict(labels)
    for rule in rules:
        if rule.action in _OF_NAMES:
            _change_names(result, rule)
        elif not _change_value(result, rule, rule.separator.join(result.get(name, "") for name in rule.source_labels)):
            return None
    return {name: value for name, value in result.items() if value}


def _change_names(labels: dict[str, str], rule: RelabelConfig) -> None:
    pattern = compile_bounded(rule.regex)
    for name, value in list(labels.items()):
        found = _match(pattern, name)
        if rule.action is Action.LABELMAP:
            if found is not None:
                _write(labels, _expand(rule.replacement, found), value)
        elif (found is None) == (rule.action is Action.LABELKEEP):
            del labels[name]


def _change_value(labels: dict[str, str], rule: RelabelConfig, joined: str) -> bool:
    """Whether the target stays."""
    target = rule.target_label
    match rule.action:
        case Action.KEEPEQUAL:
            return labels.get(target, "") == joined
        case Action.DROPEQUAL:
            return labels.get(target, "") != joined
        case Action.LOWERCASE:
            labels[target] = joined.lower()
            return True
        case Action.UPPERCASE:
            labels[target] = joined.upper()
            return True
        case Action.HASHMOD:
            digest = hashlib.md5(joined.encode("utf-8", "surrogatepass"), usedforsecurity=False).digest()
            labels[target] = str(int.from_bytes(digest[8:]) % rule.modulus)
            return True
    found = _match(compile_bounded(rule.regex), joined)
    if rule.action is not Action.REPLACE:
        return (found is None) == (rule.action is Action.DROP)
    if found is not None:
        _write(labels, _expand(target, found), _expand(rule.replacement, found))
    return True


def _write(labels: dict[str, str], name: str, value: str) -> None:
    """As in Prometheus, what a pattern makes of a name is left out where it is none."""
    if _LABEL_NAME.fullmatch(name) is not None:
        labels[name] = value


def _match(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    if len(text) > VALUE_CHARS_MAX and pattern.pattern != DEFAULT_REGEX:
        raise ValueError(f"labels {text[:80]!r}…: expected at most {VALUE_CHARS_MAX} characters to match")
    return pattern.fullmatch(text)


def _expand(replacement: str, found: re.Match[str]) -> str:
    def group(reference: re.Match[str]) -> str:
        if reference[1]:
            return "$"
        name = reference[2] or reference[3]
        try:
            return found[int(name) if name.isdigit() else name] or ""
        except IndexError:
            return ""

    return _REFERENCE.sub(group, replacement)
