"""From lines of a kernel log, or of the Fabric Manager's, to what they say of GPUs and NVSwitches. Pure.

Who may log on a host may write a line that looks like the driver's: only records of the kernel itself are read, where
the format says who wrote them.

kmsg: ``priority,sequence,microseconds since boot,flags;text`` (docs.kernel.org/ABI/testing/dev-kmsg). journal_json:
systemd.io/JOURNAL_EXPORT_FORMATS. XIDs: docs.nvidia.com/deploy/xid-errors.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

_ADDRESS = r"(?:PCI:)?([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})(?:\.[0-7])?"
_XID = re.compile(rf"NVRM: Xid \({_ADDRESS}(?: GPU-I:(\d{{1,3}})(?: GPU-CI:\d{{1,3}})?)?\): (\d{{1,5}})(?:[,:]|$)")
_XID_BEGIN = "NVRM: Xid ("
# Lines with the same code that go on with Severity or Data are further parts of one record.
_SXID = re.compile(
    rf"nvidia-nvswitch(\d{{1,3}}): SXid \({_ADDRESS}\): (\d{{1,6}}), "
    r"(?:(Fatal|Non-fatal)(?:, Link (\d{1,3})\b)?|(Severity|Data)\b)"
)
_SXID_BEGIN = re.compile(r"nvidia-nvswitch\d{1,3}: SXid \(")
_GPU = re.compile(rf"NVRM: GPU at {_ADDRESS}: (GPU-[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}})")
# nv-fabricmanager's own log: what it says of the SXids that NVSwitches report to it.
_MANAGER = re.compile(r"\[[A-Z][a-z]{2} \d\d \d{4} \d\d:\d\d:\d\d\] \[[A-Z]{1,10}\] \[tid \d{1,10}\] (.*)")
_MANAGER_SXID = re.compile(
    rf"detected NVSwitch (fatal|non-fatal) error (\d{{1,6}}) on fid \d{{1,5}} on NVSwitch pci bus id {_ADDRESS} "
    r"physical id (\d{1,3})(?: port (\d{1,3}))?\b"
)
_MANAGER_SXID_BEGIN = re.compile("detected NVSwitch (?:non-)?fatal error ")
_UPTIME = re.compile(r"\[[^\]]{1,40}\] ?")
_SYSLOG = re.compile(
    r"(?:<\d{1,3}>\d?)?(\d{4}-\S{5,32}|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) (\S{1,255}) kernel: ?(.*)"
)
_KERNEL_PRIORITIES = 8  # the kernel's facility is 0: what programs write to /dev/kmsg gets another one
_US_PER_S = 1_000_000


@dataclass(frozen=True, slots=True)
class Line:
    """What the kernel wrote. host: '' where the format names none; at_ns: event time, 0 where it is not known.

    number: of a record of /dev/kmsg, -1 in other formats.
    """

    text: str
    host: str = ""
    at_ns: int = 0
    number: int = -1


@dataclass(frozen=True, slots=True)
class Xid:
    """An error of a GPU. address: on the PCI bus, ``0000:9b:00``. instance: of MIG, '' for the whole GPU."""

    address: str
    code: int
    instance: str = ""


@dataclass(frozen=True, slots=True)
class Sxid:
    """An error of an NVSwitch. switch: as DCGM calls it, ``nvswitch3``. link: '' where it is not of one."""

    switch: str
    code: int
    is_fatal: bool
    link: str = ""


@dataclass(frozen=True, slots=True)
class GpuName:
    """The driver says which GPU is at an address, before its first XID."""

    address: str
    uuid: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A line that begins as an XID or SXid and goes on as nothing known."""


Record = Xid | Sxid | GpuName | Unreadable
Parse = Callable[[str], Line | None]


def kmsg(boot_ns: int) -> Parse:
    """boot_ns: time of the boot, since the Unix epoch."""

    def parse(line: str) -> Line | None:
        head, semicolon, text = line.partition(";")
        fields = head.split(",")
        if not semicolon or len(fields) < 4 or not all(field.isdecimal() and len(field) < 20 for field in fields[:3]):
            return None  # also ` KEY=value`, which goes on a record
        priority, number, us = map(int, fields[:3])
        written_by_kernel = priority < _KERNEL_PRIORITIES
        return Line(text if written_by_kernel else "", at_ns=boot_ns + us * 1000, number=number)

    return parse


def syslog(line: str) -> Line | None:
    """RFC 3164 or ISO 8601 time, host, ``kernel:``; a time without a zone is of no use."""
    found = _SYSLOG.fullmatch(line)
    if found is None:
        return None
    return Line(_without_uptime(found[3]), found[2], _iso_ns(found[1]))


def dmesg(line: str) -> Line | None:
    """``[time] text``, as dmesg prints it."""
    return Line(_without_uptime(line))


def fabric_manager(line: str) -> Line | None:
    """``[Feb 27 2025 15:10:02] [ERROR] [tid 12727] text`` of the Fabric Manager; its time has no zone. None for lines
    that go on with another one."""
    found = _MANAGER.fullmatch(line)
    return Line(found[1]) if found else None


def journal_json(line: str) -> Line | None:
    """One entry as an object; a message that is no text is a list of bytes, which the driver never writes."""
    try:
        entry: Any = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(entry, dict) or entry.get("_TRANSPORT") != "kernel":
        return None
    text, host, us = entry.get("MESSAGE"), entry.get("_HOSTNAME", ""), entry.get("__REALTIME_TIMESTAMP", "0")
    if not isinstance(text, str) or not isinstance(host, str) or not isinstance(us, str):
        return None
    at_ns = int(us) * 1000 if us.isdecimal() and len(us) < 17 else 0
    return Line(_without_uptime(text), host, at_ns)


def driver_record(text: str) -> Record | None:
    """What the driver says of a GPU or an NVSwitch, or the Fabric Manager of an NVSwitch; None for all other text.

    >>> driver_record("NVRM: Xid (PCI:0000:9b:00): 79, pid=1234, name=python3, GPU has fallen off the bus.")
    Xid(address='0000:9b:00', code=79, instance='')
    >>> driver_record("NVRM: Xid (PCI:0000:9b:00 GPU-I:03): 13, pid=7, Graphics Exception").instance
    '3'
    >>> driver_record("nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress PRIV error")
    Sxid(switch='nvswitch3', code=12028, is_fatal=False, link='32')
    """
    if text.startswith(_XID_BEGIN):
        found = _XID.match(text)
        if found is None:
            return Unreadable()
        return Xid(pci_address(found[1]), int(found[3]), str(int(found[2])) if found[2] else "")
    if _SXID_BEGIN.match(text):
        return _sxid(text)
    if _MANAGER_SXID_BEGIN.match(text):
        return _manager_sxid(text)
    found = _GPU.match(text)
    return GpuName(pci_address(found[1]), found[2]) if found else None


def _sxid(text: str) -> Sxid | Unreadable | None:
    found = _SXID.match(text)
    if found is None:
        return Unreadable()
    if found[6]:
        return None
    return Sxid(f"nvswitch{int(found[1])}", int(found[3]), found[4] == "Fatal", str(int(found[5])) if found[5] else "")


def _manager_sxid(text: str) -> Sxid | Unreadable:
    found = _MANAGER_SXID.match(text)
    if found is None:
        return Unreadable()
    return Sxid(f"nvswitch{int(found[4])}", int(found[2]), found[1] == "fatal", str(int(found[5])) if found[5] else "")


def pci_address(text: str) -> str:
    """As the driver's log writes it: without function, the domain in four digits.

    >>> pci_address("00000000:9B:00.0"), pci_address("10000:01:00")
    ('0000:9b:00', '10000:01:00')
    """
    domain, colon, rest = text.strip().lower().partition(":")
    return f"{domain.lstrip('0').rjust(4, '0')}{colon}{rest.partition('.')[0]}"


def driver_listing(texts: Iterable[str]) -> dict[str, str]:
    """UUIDs by PCI address, from the files ``information`` of the driver's folder."""
    found: dict[str, str] = {}
    for text in texts:
        fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}
        uuid = fields.get("GPU UUID", "")
        if uuid.startswith("GPU-") and "?" not in uuid and fields.get("Bus Location"):
            found[pci_address(fields["Bus Location"])] = uuid
    return found


def _without_uptime(text: str) -> str:
    begin = _UPTIME.match(text)
    return text[begin.end() :] if begin else text


def _iso_ns(text: str) -> int:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return 0
    return int(at.timestamp() * _US_PER_S) * 1000 if at.tzinfo is not None else 0
