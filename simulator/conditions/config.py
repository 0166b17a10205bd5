"""ConditionConfig: which ordinary behaviour a simulated cluster shows, and how strongly."""

from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

STRENGTH_MAX: Final[dict[str, float]] = {
    "pcie-hiccups": 10.0,
    "power-cap": 1.5,
    "chip-spread": 3.0,
    "application-xids": 10.0,
    "user-crashes": 2.0,
    "cancelled-jobs": 2.0,
    "hash-collisions": 1.0,
    "other-clients": 2.0,
    "one-stripe-files": 1.0,
    "storage-rebuild": 2.0,
    "metadata-load": 10.0,
    "hdd-targets": 1.0,
    "noise-with-memory": 3.0,
    "recorded-h100": 1.25,
}
"""Every condition and the largest strength that still means something: a part of the whole ends at 1."""


class ConditionConfig(BaseModel):
    """One condition. strength: 1 is the usual; ``docs/simulator/conditions.md`` says what it scales."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(description="a name of simulator.conditions.registry.CONDITIONS")
    strength: float = Field(1.0, gt=0, allow_inf_nan=False, description="how strong it is; 1 is the usual")

    @field_validator("name")
    @classmethod
    def _known(cls, name: str) -> str:
        if name not in STRENGTH_MAX:
            raise ValueError(f"no condition {name!r}, expected one of {', '.join(STRENGTH_MAX)}")
        return name

    @model_validator(mode="after")
    def _has_meaning(self) -> "ConditionConfig":
        most = STRENGTH_MAX[self.name]
        if self.strength > most:
            raise ValueError(f"strength {self.strength:g}: {self.name} has a meaning up to {most:g}")
        return self


def _each_once(conditions: tuple[ConditionConfig, ...]) -> tuple[ConditionConfig, ...]:
    names = [condition.name for condition in conditions]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"condition {name}: given {names.count(name)} times, expected once")
    return conditions


Conditions = Annotated[tuple[ConditionConfig, ...], AfterValidator(_each_once)]
"""Conditions that a cluster has all the time, each at most once."""
