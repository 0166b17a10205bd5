"""Racks from the names of hosts, where these are systematic."""

import re
from collections import Counter
from collections.abc import Collection, Mapping

# ``rack12-u07``, ``gpu-r12n04``: a rack's number, and then that of a node, unit, slot, host or server in it. A number
# alone is no rack: ``r650-01`` is a model.
_NAME = re.compile(r"(?:^|[^a-z])(?:rack|rk|r)[-_]?(\d{1,4})[-_.]?(?:node|n|u|s|h|srv)[-_]?\d+", re.IGNORECASE)
_SHARE_MIN = 0.9  # of the hosts: others may be login nodes
_RACKS_MIN = 2  # one name for all says nothing
_HOSTS_MAX = 48  # units of a rack


def racks_of(hosts: Collection[str]) -> Mapping[str, str]:
    """Rack of each host whose name has one; none where the names follow no rule.

    >>> racks_of(["r1-n1", "r1-n2", "r2-n1", "r2-n2"])
    {'r1-n1': 'r1', 'r1-n2': 'r1', 'r2-n1': 'r2', 'r2-n2': 'r2'}
    >>> racks_of(["node1", "node2", "r1-n1"])
    {}
    """
    found = {name: f"r{int(match[1])}" for name in sorted(hosts) if (match := _NAME.search(name))}
    sizes = Counter(found.values())
    systematic = len(found) >= _SHARE_MIN * len(hosts) and len(sizes) >= _RACKS_MIN
    return found if systematic and max(sizes.values()) <= _HOSTS_MAX else {}
