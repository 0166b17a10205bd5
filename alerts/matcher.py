"""Matchers on an alert's labels, as Alertmanager writes them: ``severity="critical"``, ``object=~"port:leaf1/.*"``."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

PATTERN_CHARS_MAX = 200
VALUE_CHARS_MAX = 255
# nested repetition is what makes a backtracking engine exponential: (a+)+, (a*b?){9}
_NESTED = re.compile(r"[*+}]\)\s*[*+{]|[*+?}]\s*\)[*+{]|\|.*\)[*+{]")

# each one multiplies the work by the length of the value: three over 255 characters are some milliseconds
_REPETITION = re.compile(r"(?<!\\)[*+{]")
REPETITIONS_MAX = 3


class Matcher(BaseModel):
    """One condition on one label; a label that is absent counts as empty. A pattern must match the whole value."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str = Field(pattern=r"^[a-zA-Z_][a-zA-Z0-9_]*$")
    op: Literal["=", "!=", "=~", "!~"] = "="
    value: str = Field(max_length=PATTERN_CHARS_MAX)

    @model_validator(mode="after")
    def _pattern_compiles(self) -> "Matcher":
        if self.op in ("=~", "!~"):
            if _NESTED.search(self.value):
                raise ValueError(f"pattern {self.value!r}: repetition inside a repetition is not accepted")
            if len(_REPETITION.findall(self.value)) > REPETITIONS_MAX:
                raise ValueError(f"pattern {self.value!r}: at most {REPETITIONS_MAX} repetitions")
            try:
                _compiled(self.value)
            except re.error as error:
                raise ValueError(f"pattern {self.value!r}: {error}") from error
        return self

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.name, "")[:VALUE_CHARS_MAX]
        if self.op in ("=", "!="):
            return (value == self.value) is (self.op == "=")
        return (_compiled(self.value).fullmatch(value) is not None) is (self.op == "=~")


def all_match(matchers: Iterable[Matcher], labels: Mapping[str, str]) -> bool:
    """True also without any matcher."""
    return all(matcher.matches(labels) for matcher in matchers)


@lru_cache(maxsize=1000)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)
