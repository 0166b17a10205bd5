"""Configuration of a kernel log."""

import re
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from common.units import Seconds
from ingest.collectors.kernel_log.records import pci_address

HOLD_S = 900.0


class Format(StrEnum):
    KMSG = "kmsg"
    SYSLOG = "syslog"
    JOURNAL_JSON = "journal_json"
    DMESG = "dmesg"
    FABRIC_MANAGER = "fabric_manager"


_KMSG = Path("/dev/kmsg")


class Config(BaseModel):
    """One log: of one host, or of many that a log server writes into one file or fifo."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    job_name: str = Field("kernel", min_length=1, description="First part of the targets' names.")
    file: Path = Field(_KMSG, description="A file, a fifo, or /dev/kmsg.")
    format: Format = Field(
        Format.KMSG,
        description="kmsg: of /dev/kmsg. syslog: lines with time, host and `kernel:`, as rsyslog and journalctl write "
        "them. journal_json: of `journalctl -o json`. dmesg: a time in brackets, or none. fabric_manager: the log of "
        "nv-fabricmanager, /var/log/fabricmanager.log as a rule.",
    )
    device: str = Field("", description="The host. Empty: the one that each line names (syslog, journal_json).")
    gpus: dict[str, str] = Field(
        default={}, description="PCI address of a GPU of `device` to its UUID, where neither driver nor log says it."
    )
    driver_folder: Path = Field(
        Path("/proc/driver/nvidia/gpus"), description="Where the driver lists the GPUs of this host, for kmsg."
    )
    interval_s: Seconds = Field(5.0, description="How often the log is read.")
    hold_s: Seconds = Field(HOLD_S, description="For how long an XID is the last one; then there is none.")
    read_bytes_max: int = Field(4 << 20, gt=0, description="In one interval; the rest waits for the next one.")
    hosts_max: int = Field(10_000, gt=0, description="Hosts of one log; XIDs of further ones are dropped.")

    @field_validator("gpus")
    @classmethod
    def _addresses(cls, gpus: dict[str, str]) -> dict[str, str]:
        found = {pci_address(address): uuid for address, uuid in gpus.items()}
        for address, uuid in gpus.items():
            if not re.fullmatch(r"[0-9a-f]+:[0-9a-f]{2}:[0-9a-f]{2}", pci_address(address)) or not uuid:
                raise ValueError(f"{address!r}: {uuid!r}: expected a PCI address, such as 0000:9b:00.0, and a UUID")
        return found

    @model_validator(mode="after")
    def _has_a_host(self) -> "Config":
        if not self.device and self.format in (Format.KMSG, Format.DMESG, Format.FABRIC_MANAGER):
            raise ValueError(f"device: {self.format} names no host, so the settings have to")
        if self.format is Format.FABRIC_MANAGER and self.file == _KMSG:
            raise ValueError("file: expected that of the Fabric Manager, such as /var/log/fabricmanager.log")
        if self.gpus and not self.device:
            raise ValueError("gpus: expected device beside it, as each host has GPUs of its own")
        return self
