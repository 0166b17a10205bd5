"""What devices are called that have something in common of which nobody recorded the name."""

import re
from collections.abc import Collection

from telemetry.topology import Device

_NUMBERED = re.compile(r"(.*?)(\d+)(\D*)")  # a name by what is before and behind its last number


def hosts_together(root: str, names: Collection[str], noun: str, devices: dict[str, Device]) -> str:
    """``4 hosts node1 to node4 (rack not recorded)``; where their numbers are not in a row the ``root`` and how many
    others. names: of all of them. noun: of several. devices: by name, as far as they are recorded.
    """
    unknown = all(not known.rack for name in names if (known := devices.get(name)))
    where = " (rack not recorded)" if unknown else ""
    if span := _span(names):
        return f"{len(names)} {noun} {span}{where}"
    others = len(names) - 1
    return f"{root} and {others} more {noun if others > 1 else noun.removesuffix('s')}{where}"


def _span(names: Collection[str]) -> str:
    """``gpu-001 to gpu-008``, '' where these are not all numbers in a row.

    >>> _span(["node10", "node9", "node11"])
    'node9 to node11'
    >>> _span(["node1", "node3"]), _span(["a1", "b2"]), _span(["oss"])
    ('', '', '')
    """
    parts = [match.groups() for name in names if (match := _NUMBERED.fullmatch(name))]
    numbers = sorted(int(number) for _, number, _ in parts)
    alike = len({(before, behind) for before, _, behind in parts}) == 1
    if len(parts) < max(2, len(names)) or not alike or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return ""
    ranked = sorted(names, key=lambda name: (len(name), name))
    return f"{ranked[0]} to {ranked[-1]}"
