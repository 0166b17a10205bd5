"""Relabelling of targets, as Prometheus does it: replace, keep, drop and labelmap."""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from common.patterns import VALUE_CHARS_MAX, compile_bounded

DEFAULT_REGEX = "(.*)"


class Action(StrEnum):
    REPLACE = "replace"
    KEEP = "keep"
    DROP = "drop"
    LABELMAP = "labelmap"


class RelabelConfig(BaseModel):
    """One rule. The pattern has to match the whole of the joined source labels."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source_labels: tuple[str, ...] = Field(default=(), description="Labels whose values are joined.")
    separator: str = Field(default=";", description="Text between them.")
    regex: str = Field(
        default=DEFAULT_REGEX, description="Pattern for the joined values, or for label names (labelmap)."
    )
    target_label: str = Field(default="", description="Label that the action replace writes.")
    replacement: str = Field(default="$1", description="Text with $1 or ${1} for the pattern's groups.")
    action: Action = Field(default=Action.REPLACE, description="replace, keep, drop or labelmap.")

    @field_validator("regex")
    @classmethod
    def _compiles(cls, regex: str) -> str:
        compile_bounded(regex)
        return regex

    @model_validator(mode="after")
    def _has_target(self) -> "RelabelConfig":
        if self.action is Action.REPLACE and not self.target_label:
            raise ValueError("target_label: the action replace needs one")
        return self


def relabel(labels: Mapping[str, str], rules: Iterable[RelabelConfig]) -> dict[str, str] | None:
    """The labels after all rules; None when a rule drops the target. ValueError for labels of which a rule would take
    too long to decide."""
    result = dict(labels)
    for rule in rules:
        pattern = compile_bounded(rule.regex)
        if rule.action is Action.LABELMAP:
            for name, value in list(result.items()):
                if found := _match(pattern, name):
                    result[_expand(rule.replacement, found)] = value
            continue
        found = _match(pattern, rule.separator.join(result.get(name, "") for name in rule.source_labels))
        if rule.action is not Action.REPLACE:
            if (found is None) == (rule.action is Action.KEEP):
                return None
        elif found is not None:
            result[rule.target_label] = _expand(rule.replacement, found)
    return {name: value for name, value in result.items() if value}


def _match(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    if len(text) > VALUE_CHARS_MAX and pattern.pattern != DEFAULT_REGEX:
        raise ValueError(f"labels {text[:80]!r}…: expected at most {VALUE_CHARS_MAX} characters to match")
    return pattern.fullmatch(text)


def _expand(replacement: str, found: re.Match[str]) -> str:
    def group(reference: re.Match[str]) -> str:
        name = reference[1] or reference[2]
        try:
            return found[int(name) if name.isdigit() else name] or ""
        except IndexError:
            return ""

    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", group, replacement)
