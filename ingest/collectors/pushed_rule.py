"""Which source's names a pushed series has, and of which device it is: a part of the settings of several collectors."""

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from common.patterns import VALUE_CHARS_MAX, compile_bounded
from ingest.collectors.exposition.config import MappingEntry, check_source
from ingest.collectors.exposition.relabel import DEFAULT_REGEX, Action, RelabelConfig
from ingest.collectors.unmapped_settings import Unmapped, UnmappedSeriesMax
from telemetry.catalogue import Metric, Origin, Source, origins_of, source, source_names


class PushedRule(BaseModel):
    """The first rule whose ``job`` matches a series decides on it; a series without a rule is unmapped."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    job: str = Field(default=DEFAULT_REGEX, description="Pattern for the whole label `job`.")
    source: str = Field(
        description="Source of the catalogue (dcgm, node_exporter, lustre, …), or any name with mapping."
    )
    device_from: tuple[str, ...] = Field(
        default=("instance",),
        min_length=1,
        description="Labels, the first present one names the device; what follows its last colon is left out.",
    )
    relabel_configs: tuple[RelabelConfig, ...] = Field(
        default=(),
        description="Rules for the labels of a series, as for targets: `device` and all others that they write are "
        "added to its canonical series; keep and drop choose series.",
    )
    mapping: tuple[MappingEntry, ...] = Field(default=(), description="Names outside the catalogue.")
    unmapped: Unmapped = "drop"
    unmapped_series_max: UnmappedSeriesMax = 1000

    @field_validator("job")
    @classmethod
    def _compiles(cls, job: str) -> str:
        compile_bounded(job)
        return job

    @field_validator("relabel_configs")
    @classmethod
    def _only_add_labels(cls, rules: tuple[RelabelConfig, ...]) -> tuple[RelabelConfig, ...]:
        for rule in rules:
            if rule.action in (Action.LABELDROP, Action.LABELKEEP):
                raise ValueError(
                    f"action {rule.action}: only of targets, as series keep the labels that they came with"
                )
        return rules

    @model_validator(mode="after")
    def _is_known(self) -> "PushedRule":
        check_source(self.source, self.origins(), self.unmapped)
        return self

    def matches(self, job: str) -> bool:
        """Whether it decides on the series of a job; a name too long to match is of no rule but the default."""
        if self.job == DEFAULT_REGEX:
            return True
        return len(job) <= VALUE_CHARS_MAX and compile_bounded(self.job).fullmatch(job) is not None

    def catalogue_source(self) -> Source:
        return source(self.source) if self.source in source_names() else Source(self.source, "by mapping alone")

    def origins(self) -> list[tuple[Metric, Origin]]:
        return origins_of(self.source) + [entry.origin(self.source) for entry in self.mapping]
