"""Texts of the kernel and of ethtool to numbers. Pure."""

import math
import re
from collections.abc import Iterable, Mapping

from common.errors import BadInput
from ingest.collectors.canonical_samples import Values

TEXT_BYTES_MAX = 4096  # a file of sysfs is at most a page
_NUMBER = re.compile(r"\s*(-?[0-9]{1,30}(?:\.[0-9]{1,30})?)\b")
_STATISTIC = re.compile(r"\s*(\S.*?)\s*:\s*(-?[0-9]{1,30})\s*")


def add_port(values: Values, device: str, port: str, texts: Iterable[tuple[str, str]]) -> None:
    """Files of one port of an RDMA device, by their path below it: ``hw_counters/np_cnp_sent``, ``state``."""
    for path, text in texts:
        values.add(path, number(text), device=device, port=port)


def add_device(values: Values, device: str, texts: Mapping[str, str]) -> None:
    """Files of an RDMA device itself: what it is and which firmware it runs, which are labels."""
    values.add("fw_ver", 1.0, device=device, **{name: text.strip() for name, text in texts.items()})


def add_statistics(values: Values, interface: str, text: bytes) -> None:
    """What ``ethtool -S`` prints: a title, then a line for each statistic. BadInput for a text that has none."""
    found = 0
    for line in text.decode(errors="replace").splitlines():
        matched = _STATISTIC.fullmatch(line)
        if matched is not None:
            values.add(f"ethtool/{matched[1]}", float(matched[2]), interface=interface)
            found += 1
    if not found:
        raise BadInput(f"{interface}: expected lines such as rx_packets: 1, found {text[:80]!r}", "bad_format")


def number(text: str) -> float:
    """The number that a file begins with: ``4: ACTIVE`` is 4, ``400 Gb/sec (4X NDR)`` is 400, ``N/A (no PMA)`` NaN."""
    matched = _NUMBER.match(text)
    return math.nan if matched is None else float(matched[1])
