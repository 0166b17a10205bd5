"""Configuration of a host whose own counters are read."""

from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Config(BaseModel):
    """The host that this process runs on, or the tree of another one."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str = Field("host-counters", min_length=1, description="The target's name.")
    device: str = Field("", description="Name of the host; that of this machine when empty.")
    sysfs: Path = Field(Path("/sys"), description="Where sysfs is: elsewhere in a container, or a copy of it.")
    ethtool: tuple[str, ...] = Field(
        ("ethtool", "-S"), description="Program and arguments; the name of an interface follows. [] runs none."
    )
    statistics: Path | None = Field(
        None, description="Folder with ethtool's text in INTERFACE.txt, instead of the program."
    )
    interfaces: tuple[str, ...] = Field(
        (), description="Whose statistics are read; when empty, the interfaces of all RDMA devices."
    )
    interval_s: float = Field(10.0, gt=0, description="How often all of it is read.")
    timeout_s: float = Field(5.0, gt=0, description="Deadline of one collection, all of it.")
    values_max: int = Field(50_000, gt=0, description="Files and statistics of one collection.")

    @property
    def job_name(self) -> str:
        return self.name

    @model_validator(mode="after")
    def _interfaces_are_names(self) -> Self:
        for name in self.interfaces:
            if not name or "/" in name or name.startswith((".", "-")):
                raise ValueError(f"interfaces: {name[:80]!r}: expected the name of an interface, such as eth0")
        return self
