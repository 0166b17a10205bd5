"""Matchers on an alert's labels, as Alertmanager writes them: ``severity="critical"``, ``object=~"port:leaf1/.*"``."""

from collections.abc import Iterable, Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from common.patterns import PATTERN_CHARS_MAX, VALUE_CHARS_MAX, compile_bounded


class Matcher(BaseModel):
    """One condition on one label; a label that is absent counts as empty. A pattern must match the whole value."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str = Field(pattern=r"^[a-zA-Z_][a-zA-Z0-9_]*$", description="Of a label of the alert.")
    op: Literal["=", "!=", "=~", "!~"] = Field(default="=", description="=, !=, =~ or !~; the last two with a pattern.")
    value: str = Field(max_length=PATTERN_CHARS_MAX, description="Text, or a pattern for the whole value.")

    @model_validator(mode="after")
    def _pattern_compiles(self) -> "Matcher":
        if self.op in ("=~", "!~"):
            compile_bounded(self.value)
        return self

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.name, "")[:VALUE_CHARS_MAX]
        if self.op in ("=", "!="):
            return (value == self.value) is (self.op == "=")
        return (compile_bounded(self.value).fullmatch(value) is not None) is (self.op == "=~")


def all_match(matchers: Iterable[Matcher], labels: Mapping[str, str]) -> bool:
    """True also without any matcher."""
    return all(matcher.matches(labels) for matcher in matchers)
