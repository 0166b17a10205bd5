"""ServeConfig: how the simulated cluster is served over real protocols."""

from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

from simulator.collection.config import CollectionConfig
from simulator.config import SimulatorConfig
from simulator.faults.schedule import ScheduledFault
from simulator.layout import Flavour
from simulator.shapes.shape import Shape


class Unreachable(StrEnum):
    REFUSE = "refuse"
    HANG = "hang"


class ServeConfig(BaseModel):
    """Where and how fast the simulated cluster is served. By default: real time, real ports, no TLS, no password."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cluster: SimulatorConfig = SimulatorConfig()
    collection: CollectionConfig | None = Field(None, description="how telemetry is collected; None: perfectly")
    speed: float = Field(
        1.0, gt=0, le=100, description="simulated seconds per second; from 1.01 pages carry timestamps"
    )
    start_ns: int | None = Field(
        None, ge=0, description="event time of the start; default now, or 55 min ago when the speed is above 1"
    )
    unreachable: Unreachable = Field(
        Unreachable.REFUSE, description="what a client of an unreachable device meets: a closed port, or no answer"
    )
    step_s: float = Field(0.25, gt=0, le=5, description="real time between two steps of the simulation")
    address_offset: int = Field(0, ge=0, le=250, description="added to the third octet of every address")
    leaf_flavour: Flavour = Flavour.SONIC
    spine_flavour: Flavour = Flavour.OPENCONFIG
    sonic_aliases: bool = Field(False, description="Ethernet* answers with vendor names (etp1), as some platforms do")
    gnmi_tls: bool = Field(False, description="TLS on gNMI; without files the identity is self-signed")
    gnmi_cert_file: Path | None = None
    gnmi_key_file: Path | None = None
    gnmi_username: str = ""
    gnmi_password: SecretStr = SecretStr("")
    truth_file: Path | None = Field(None, description="ground truth as JSON lines: each fault, from when to when")
    squeue_file: Path | None = Field(None, description="kept up to date with what `squeue --json` would print")
    faults: tuple[ScheduledFault, ...] = Field((), description="faults to inject")

    @model_validator(mode="after")
    def _can_be_served(self) -> "ServeConfig":
        if self.cluster.shape is Shape.INFINIBAND:
            raise ValueError("shape infiniband: expected another one: no collector reads its switches yet")
        return self
