"""Scheduled faults: ``slow-receiver@30s+60s:node3/mlx5_2`` on the command line, or an entry of a file."""

import re

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from common.errors import ConfigError
from simulator.faults import FAULTS

_FORM = re.compile(
    r"(?P<fault>[a-z-]+)@(?P<at>[0-9.]+)s(?:\+(?P<lasts>[0-9.]+)s)?"
    r"(?:,on=(?P<on>[0-9.]+)s,off=(?P<off>[0-9.]+)s)?(?:,strength=(?P<strength>[0-9.]+))?(?P<silent>,silent)?"
    r"(?::(?P<target>.+))?"
)
TURN_S_MIN = 0.1  # two of the longest steps of the model


class ScheduledFault(BaseModel):
    """One fault of a schedule. Seconds: ``at_s`` since the start of the simulation; ``lasts_s`` 0: natural duration.

    ``on_s``, ``off_s``: an intermittent fault acts for ``on_s``, pauses for ``off_s``, and so on until it ends; both 0:
    it always acts. ``silent``: the devices that it is on answer no collection until it ends, though they work.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    fault: str = Field(description="a name of simulator.faults.FAULTS")
    at_s: float = Field(0.0, ge=0, allow_inf_nan=False)
    lasts_s: float = Field(0.0, ge=0, allow_inf_nan=False)
    target: str = Field("", description="what breaks; empty: chosen by the seed")
    strength: float = Field(1.0, gt=0, allow_inf_nan=False, description="how bad a fault that has degrees is")
    on_s: float = Field(0.0, ge=0, allow_inf_nan=False)
    off_s: float = Field(0.0, ge=0, allow_inf_nan=False)
    silent: bool = False

    @field_validator("fault")
    @classmethod
    def _known(cls, name: str) -> str:
        if name not in FAULTS:
            raise ValueError(f"no fault {name!r}, expected one of {', '.join(FAULTS)}")
        return name

    @model_validator(mode="after")
    def _has_meaning(self) -> "ScheduledFault":
        kind = FAULTS[self.fault]
        least, most = kind.strengths
        if not least <= self.strength <= most:
            raise ValueError(f"strength {self.strength:g}: {self.fault} has a meaning from {least:g} to {most:g}")
        if (self.on_s or self.off_s) and min(self.on_s, self.off_s) < TURN_S_MIN:
            raise ValueError(f"on_s {self.on_s:g}, off_s {self.off_s:g}: expected both, at least {TURN_S_MIN:g} s each")
        if self.on_s and not kind.intermittent:
            raise ValueError(f"on_s {self.on_s:g}: {self.fault} cannot begin again")
        return self


def parse_fault(text: str) -> ScheduledFault:
    """The command line's form: ``name@at``, then ``+length``, ``,on=5s,off=10s``, ``,strength=0.5``, ``,silent`` and
    ``:target`` if wanted, in this order.

    >>> parse_fault("slow-receiver@30s+60s:node3/mlx5_2")
    ScheduledFault(fault='slow-receiver', at_s=30.0, lasts_s=60.0, target='node3/mlx5_2')
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise ConfigError(
            f"fault {text!r}: expected name@30s, name@30s+60s or name@30s+60s:target, "
            "with ,on=5s,off=10s ,strength=0.5 ,silent before the target"
        )
    try:
        return ScheduledFault(
            fault=match["fault"],
            at_s=float(match["at"]),
            lasts_s=float(match["lasts"] or 0.0),
            target=match["target"] or "",
            strength=float(match["strength"] or 1.0),
            on_s=float(match["on"] or 0.0),
            off_s=float(match["off"] or 0.0),
            silent=match["silent"] is not None,
        )
    except ValueError as error:
        raise ConfigError(f"fault {text!r}: {_first(error)}") from error


def _first(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    problem = error.errors()[0]
    where = ".".join(map(str, problem["loc"]))
    text = problem["msg"].removeprefix("Value error, ")
    return f"{where}: {text}" if where else text
