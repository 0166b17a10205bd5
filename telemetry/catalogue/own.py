"""Metrics of the user's own, from the settings: what the catalogue does not have, and what exporters call it."""

import re
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from telemetry.catalogue.entries import Kind, Metric, Origin
from telemetry.catalogue.known import canonical

_NAME = r"^[a-zA-Z_][a-zA-Z0-9_]*$"
_COUNTERS = ("_total", "_sum", "_count")
_WRITTEN = ("up", "scrape_duration_seconds")  # by Fabricscope itself, as all that begins with its name
_PREFIX = "fabricscope_"
Label = Annotated[str, Field(pattern=_NAME)]


class NameRule(BaseModel):
    """What an exporter calls a metric, and how it becomes one series of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str = Field(description="Name in the scrape body; {label} stands for digits.")
    scale: float = Field(default=1.0, description="Factor to the unit of the metric.")
    labels: dict[str, str] = Field(default={}, description="Canonical label to text with its own labels in braces.")
    where: dict[str, str] = Field(default={}, description="Only samples with these label values, separated by |.")
    sum: bool = Field(default=False, description="Add up samples that become one series.")
    bit: int | None = Field(default=None, ge=0, le=62, description="Bit of a mask.")

    @field_validator("name")
    @classmethod
    def _digits_end(cls, name: str) -> str:
        if re.search(r"\}[0-9]*\{", name):  # nobody could say where one number ends and the next begins
            raise ValueError("expected text other than digits between {label} and {label}")
        return name


class OwnOrigin(NameRule):
    """The name in one system."""

    source: str = Field(min_length=1, description="`source` of the jobs that have it, of the catalogue or any other.")


class OwnMetric(BaseModel):
    """A metric that the catalogue does not have. It is baselined, exported and recorded as the catalogue's are."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str = Field(pattern=_NAME, description="Its canonical name; a counter's ends in _total, _sum or _count.")
    kind: Kind = Field(description="counter, gauge, state, peak or info.")
    unit: str = Field(pattern=r"^[a-z][a-z_]*$", description="As seconds, bytes, ratio or requests.")
    labels: tuple[Label, ...] = Field(default=(), description="Those that name the object, beside `device`.")
    help: str = Field(min_length=1, description="What it measures.")
    worse: Literal["higher", "lower", ""] = Field(default="", description="On which side it is bad, if on one.")
    minimum: float | None = Field(default=None, description="Less is no sample; of a counter 0.")
    maximum: float | None = Field(default=None, description="More is no sample.")
    origins: tuple[OwnOrigin, ...] = Field(
        default=(), description="What systems call it, beside what `mapping` of jobs says."
    )

    @field_validator("name")
    @classmethod
    def _is_free(cls, name: str) -> str:
        if name in canonical():
            raise ValueError(f"{name} is a metric of the catalogue: give it another name with `mapping` of the job")
        if is_written(name):
            raise ValueError(f"{name} is a name that Fabricscope writes itself")
        return name

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if (self.kind is Kind.COUNTER) != self.name.endswith(_COUNTERS):
            raise ValueError(f"{self.name}: expected a name that ends in _total, _sum or _count for a counter alone")
        if "device" in self.labels or len(set(self.labels)) < len(self.labels):
            raise ValueError(f"{self.name}: labels: expected each once, without device, which every series has")
        if self.minimum is not None and self.maximum is not None and self.minimum >= self.maximum:
            raise ValueError(f"{self.name}: minimum: expected less than maximum")
        for origin in self.origins:
            if unknown := origin.labels.keys() - set(self.labels):
                raise ValueError(f"{self.name}: {origin.name}: labels: {min(unknown)} is no label of the metric")
        return self

    @property
    def metric(self) -> Metric:
        labels = ("device", *self.labels)
        fields = self.model_dump(exclude={"origins", "labels"})
        return Metric(labels=labels, **fields)

    def origins_of(self, source: str) -> list[Origin]:
        """Its names in one system."""
        return [Origin(**origin.model_dump()) for origin in self.origins if origin.source == source]


def is_written(name: str) -> bool:
    """Whether Fabricscope itself writes series of this name."""
    return name in _WRITTEN or name.startswith(_PREFIX)
