"""The inventory file: what the devices do not report about themselves. See README.md for an example."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from telemetry.asics import asic_name
from telemetry.objects import NAME_CHARS_MAX
from telemetry.topology import Role

_SPEED = re.compile(r"(\d+(?:\.\d+)?)\s*([MGT])(?:b/s|bps|bit/s)?", re.IGNORECASE)
_SCALE = {"M": 1e6, "G": 1e9, "T": 1e12}


def _text(value: Any) -> Any:
    """YAML reads 4711 and 0 as numbers where people mean a name."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _speed(value: Any) -> Any:
    found = _SPEED.fullmatch(value.strip()) if isinstance(value, str) else None
    return float(found[1]) * _SCALE[found[2].upper()] if found else value


Text = Annotated[str, BeforeValidator(_text)]
Name = Annotated[str, BeforeValidator(_text), Field(min_length=1, max_length=NAME_CHARS_MAX)]
Hostlist = Annotated[str, BeforeValidator(_text), Field(min_length=1, max_length=4096)]
PortName = Annotated[str, Field(pattern=r"^[^/\s]+/\S+$", max_length=NAME_CHARS_MAX, description="device/port")]
Speed = Annotated[
    float, BeforeValidator(_speed), Field(ge=0, allow_inf_nan=False, description="bits per second, or 400G")
]
AsicName = Annotated[str, AfterValidator(asic_name)]
GpuIndex = Annotated[int, Field(ge=0, lt=2**31)]


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class DeviceEntry(_Entry):
    """name: one device, or several as a hostlist: node[1-8]. asic: of a switch, a name of ``telemetry/asics.yaml``."""

    name: Hostlist
    role: Role
    pod: Text = ""
    rack: Text = ""
    rail: Text = ""
    asic: AsicName = ""  # not validated: none is stated


class LinkEntry(_Entry):
    one: PortName = Field(alias="from")
    other: PortName = Field(alias="to")
    speed: Speed = 0.0


class GpuEntry(_Entry):
    device: Name
    uuid: Name
    index: GpuIndex
    nic_port: Text = ""
    model: Text = ""
    serial: Text = ""


class StorageTargetEntry(_Entry):
    filesystem: Name
    target: Name
    server: Name


class MountEntry(_Entry):
    """device: one, or a hostlist."""

    device: Hostlist
    filesystem: Name


class JobEntry(_Entry):
    """A job that no scheduler knows. nodes: a hostlist."""

    job_id: Name
    nodes: Hostlist
    name: Text = ""
    user: Text = ""
    partition: Text = ""
    gpu_indices: tuple[GpuIndex, ...] = ()


class Inventory(_Entry):
    """The whole file."""

    devices: tuple[DeviceEntry, ...] = ()
    links: tuple[LinkEntry, ...] = ()
    gpus: tuple[GpuEntry, ...] = ()
    storage_targets: tuple[StorageTargetEntry, ...] = ()
    mounts: tuple[MountEntry, ...] = ()
    jobs: tuple[JobEntry, ...] = ()
