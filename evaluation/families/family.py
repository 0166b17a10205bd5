"""Families: a choice on each axis (background, shape, work, faults, telemetry), declared in ``declared.yaml``.

What detectors are tuned on (``TRAIN``) and what is reported (``REPORT``) differ in whole values of these axes and not
only in seeds: another seed of a known family says little about a cluster that nobody has seen.
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from common.errors import ConfigError

DECLARED = Path(__file__).with_name("declared.yaml")


def _ascending(of: tuple[float, float]) -> tuple[float, float]:
    if of[0] > of[1]:
        raise ValueError(f"{of[0]} to {of[1]}: expected the smaller one first")
    return of


Range = Annotated[tuple[float, float], AfterValidator(_ascending)]


class Place(StrEnum):
    """Where faults are: anywhere, at hosts and their cables, between and in switches, at storage and its cables."""

    ANY = "any"
    HOSTS = "hosts"
    FABRIC = "fabric"
    STORAGE = "storage"


class FaultChoice(BaseModel):
    """Which faults, how bad, how long, where, and how many that overlap.

    strength, lasts_s: drawn uniformly; a fault with a natural duration keeps it. on_s, off_s: an intermittent fault
    acts and pauses for that long in turn; 0: it always acts. silent: what it is on answers no collection meanwhile.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kinds: tuple[str, ...] = Field(min_length=1)
    together: int = Field(1, ge=1, le=3)
    strength: Range = (0.5, 1.5)
    lasts_s: Range = (60.0, 180.0)
    on_s: Range = (0.0, 0.0)
    off_s: Range = (0.0, 0.0)
    silent: bool = False
    place: Place = Place.ANY

    @model_validator(mode="after")
    def _acts_and_pauses(self) -> "FaultChoice":
        if (self.on_s[0] > 0.0) != (self.off_s[0] > 0.0):
            raise ValueError("on_s and off_s: expected both above 0, or neither")
        return self

    @property
    def intermittent(self) -> bool:
        return self.on_s[0] > 0.0


class Family(BaseModel):
    """One choice on every axis. stands_for: which clusters it represents. faults: None for a healthy one.

    conditions, work, shape, collection: names that the simulator knows. hosts: size of its clusters. boot_s: how long a
    host takes until it is up again once it has power.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z0-9-]+$")
    stands_for: str = Field(min_length=1)
    conditions: tuple[str, ...] = ()
    shape: str = "two-tier"
    hosts: int = Field(8, ge=4, le=128)
    work: tuple[str, ...] = Field(("data-parallel",), min_length=1)
    faults: FaultChoice | None = None
    boot_s: Range = (0.0, 0.0)
    collection: str = "ideal"

    @property
    def combination(self) -> tuple[object, ...]:
        """What makes two families the same one: every axis, without name and description."""
        return frozenset(self.conditions), self.shape, frozenset(self.work), self.faults, self.boot_s, self.collection

    @property
    def values(self) -> frozenset[tuple[str, str]]:
        """Every (axis, value) that it uses."""
        kinds = self.faults.kinds if self.faults else ()
        return frozenset(
            [("condition", name) for name in self.conditions]
            + [("work", name) for name in self.work]
            + [("fault", name) for name in kinds]
            + [("shape", self.shape), ("collection", self.collection)]
        )


class FamilySets(BaseModel):
    """All declared families. withheld: values of each axis that occur in no training family."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    train: tuple[Family, ...]
    report: tuple[Family, ...]

    @model_validator(mode="after")
    def _names_differ(self) -> "FamilySets":
        names = [family.name for family in (*self.train, *self.report)]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two families are called {', '.join(twice)}")
        return self

    @property
    def withheld(self) -> dict[str, list[str]]:
        """Values by axis that only families of the report have."""
        known = {value for family in self.train for value in family.values}
        only = {value for family in self.report for value in family.values} - known
        return {axis: sorted(name for at, name in only if at == axis) for axis in sorted({axis for axis, _ in only})}


def read_families(path: Path = DECLARED) -> FamilySets:
    """ConfigError names the family and the field that is wrong."""
    try:
        return FamilySets.model_validate(yaml.load(path.read_bytes(), yaml.CSafeLoader))
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"{path.name}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
