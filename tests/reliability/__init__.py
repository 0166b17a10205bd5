"""Which tests show what the program survives: faults, attacks, and the boundaries that input crosses.

``faults.yaml`` and ``attacks.yaml`` have a row for each; ``boundaries.yaml`` is the threat model. All name tests as
``path::function``. ``python -m tests.reliability`` writes them as ``docs/reliability.md``.
"""

from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, TypeAdapter, model_validator

_HERE = Path(__file__).parent


class State(StrEnum):
    """How much of a promise the tests show."""

    TESTED = "tested"
    PART = "in part"
    ABSENT = "absent"


class Row(BaseModel):
    """One fault or attack, and the promise about it.

    tests: ``path::function``; drills: targets of the Makefile that run for longer than a test may. note: what the tests
    do not show, or why there is none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    row: Annotated[str, BeforeValidator(str)]
    fault: str
    promise: str
    state: State
    tests: tuple[str, ...] = ()
    drills: tuple[str, ...] = ()
    note: str = ""

    @model_validator(mode="after")
    def _says_what_is_missing(self) -> "Row":
        if (self.state is State.ABSENT) != (not self.tests):
            raise ValueError(f"row {self.row}: {self.state} with {len(self.tests)} tests")
        if self.state is not State.TESTED and not self.note:
            raise ValueError(f"row {self.row}: {self.state}, expected a note that says what is missing")
        return self


class Boundary(BaseModel):
    """Where input comes from somebody else: what is believed, and what is checked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    boundary: str
    trusted: str
    checked: str
    tests: tuple[str, ...]


@cache
def faults() -> dict[str, list[Row]]:
    """Rows by group, in the order of their numbers. Raises ValidationError where the file is not as described."""
    return TypeAdapter(dict[str, list[Row]]).validate_python(_read("faults.yaml"))


@cache
def attacks() -> list[Row]:
    """Rows in the order of their numbers. Raises ValidationError where the file is not as described."""
    return TypeAdapter(list[Row]).validate_python(_read("attacks.yaml"))


@cache
def boundaries() -> list[Boundary]:
    """In the order in which telemetry crosses them. Raises ValidationError where the file is not as described."""
    return TypeAdapter(list[Boundary]).validate_python(_read("boundaries.yaml"))


def _read(name: str) -> object:
    return yaml.safe_load((_HERE / name).read_text())
