"""The files of RDMA devices below /sys/class/infiniband: one is open at a time, and none after the deadline.

A read of a counter asks the firmware of the adapter, and may take as long as that.
"""

import time
from collections.abc import Iterator
from pathlib import Path

from ingest.collectors.canonical_samples import Values
from ingest.collectors.command import NoAnswer, raise_without_descriptors
from ingest.collectors.host_counters.parse import TEXT_BYTES_MAX, add_device, add_port
from telemetry.samples import DownReason

_FOLDERS = ("counters", "hw_counters")
_FILES = ("state", "phys_state", "rate")
_OF_DEVICE = ("hca_type", "fw_ver")


def read_rdma(sysfs: Path, values_max: int, deadline_s: float) -> Values:
    """All counters of all ports. deadline_s: of ``time.monotonic``; TimeoutError after it.

    What vanishes meanwhile, or cannot be read, is left out. NoAnswer where there are more files than ``values_max``.
    """
    values = Values()
    devices = sysfs / "class" / "infiniband"
    for device in _names(devices):
        ports = devices / device / "ports"
        add_device(values, device, dict(_texts(devices / device, _OF_DEVICE, deadline_s)))
        for port in _names(ports):
            add_port(values, device, port, _texts(ports / port, _FILES, deadline_s))
            for folder in _FOLDERS:
                paths = [f"{folder}/{name}" for name in _names(ports / port / folder)]
                if len(values.names) + len(paths) > values_max:
                    raise NoAnswer(DownReason.TOO_MANY_SERIES, f"{devices}: more than {values_max} files")
                add_port(values, device, port, _texts(ports / port, paths, deadline_s))
    return values


def interfaces_of(sysfs: Path) -> list[str]:
    """The network interfaces of all RDMA devices, each once."""
    devices = sysfs / "class" / "infiniband"
    found = (name for device in _names(devices) for name in _names(devices / device / "device" / "net"))
    return list(dict.fromkeys(found))


def _names(folder: Path) -> list[str]:
    """Sorted; [] for a folder that is not there."""
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except OSError as error:
        raise_without_descriptors(error)
        return []


def _texts(folder: Path, paths: list[str] | tuple[str, ...], deadline_s: float) -> Iterator[tuple[str, str]]:
    for path in paths:
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"{folder / path}: not read in time")
        try:
            with (folder / path).open("rb", buffering=0) as file:
                yield path, file.read(TEXT_BYTES_MAX).decode(errors="replace")
        except OSError as error:  # the driver was reloaded, or this firmware has no such counter
            raise_without_descriptors(error)
