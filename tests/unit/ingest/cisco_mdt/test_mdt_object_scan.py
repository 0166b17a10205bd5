"""Known objects of NX-OS are read by the scan as Python reads new ones, whatever is sent."""

from collections.abc import Iterable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.collectors.cisco_mdt.decode.decoder import Decoder
from ingest.collectors.gnmi.decode.decode_buffer import Decoded
from ingest.collectors.gnmi.paths.naming import Naming
from tests.unit.ingest.cisco_mdt.telemetry import NOW_NS, managed, nxos, nxos_json

NAMING = Naming(("cisco", "openconfig"))


def decoder() -> Decoder:
    return Decoder("mdt/leaf1", "leaf1", NAMING)


_NAMES = st.sampled_from(("rmonIfHCIn", "rmonIfIn", "ethpmPhysIf", "lldpAdjEp", "nvoCounters"))
_VALUES = st.one_of(
    st.integers(-5, 2**63),
    st.sampled_from(("up", "down", "7", "18446744073709551616", "1e3", "", "N/A", "100G")),
    st.booleans(),
)
_DN = st.sampled_from(
    ("", "sys/intf/phys-[eth1/1]/dbgIfHCIn", "sys/intf/phys-[eth1/2]", "sys/lldp/inst/if-[eth1/3]/adj-1")
)
_RN = st.sampled_from(("", "phys-[eth1/1]", "dbgIfIn", "phys"))
_ATTRIBUTES = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("octets", "errors", "operSt", "operSpeed", "sysName", "novelties"), _VALUES),
        "dn": _DN,
        "rn": _RN,
    },
)
_LEAVES = st.builds(managed, _NAMES, _ATTRIBUTES)
_TREES = st.recursive(
    _LEAVES,
    lambda below: st.one_of(
        st.builds(lambda name, own, some: managed(name, own, *some), _NAMES, _ATTRIBUTES, st.lists(below, max_size=3)),
        st.builds(lambda some: {"children": some, "subscriptionId": 5}, st.lists(below, max_size=2)),
        st.builds(lambda some: {"imdata": some}, st.lists(below, max_size=2)),
        st.builds(lambda name: {name: [{"odd": 1}]}, _NAMES),
    ),
    max_leaves=8,
)


def _outcome(decoded: Iterable[Decoded]) -> list[object]:
    return [
        (
            sorted(
                (one.table.keys[row], value) for row, value in zip(one.rows.tolist(), one.values.tolist(), strict=True)
            ),
            dict(one.drops),
            sorted((update.path.kind, update.path.port, str(update.text)) for update in one.metadata),
            one.updates,
            one.malformed,
        )
        for one in decoded
    ]


@given(st.lists(_TREES, min_size=1, max_size=3))
@settings(max_examples=60, deadline=None)
def test_what_is_known_is_read_as_what_is_new(trees: list[dict[str, Any]]) -> None:
    """By one decoder twice, the second time by the scan as far as it goes, and in JSON."""
    sent = [nxos("sys/intf", tree) for tree in trees]
    own, in_json = decoder(), decoder()
    first = _outcome([own.decode([data], NOW_NS) for data in sent])
    assert _outcome([own.decode([data], NOW_NS) for data in sent]) == first
    together = own.decode(sent, NOW_NS)
    assert together.values.size == sum(len(one[0]) for one in first)  # type: ignore[index,misc]
    as_text = _outcome([in_json.decode([nxos_json("sys/intf", tree)], NOW_NS) for tree in trees])
    assert [one[:2] for one in as_text] == [one[:2] for one in first]  # type: ignore[index]


_KNOWN = nxos(
    "sys/intf",
    managed("l1PhysIf", {"dn": "sys/intf/phys-[eth1/1]", "mtu": 1}, managed("rmonIfIn", {"errors": 5, "rn": "i"})),
)


@given(st.binary(max_size=60), st.integers(0, len(_KNOWN)))
@settings(max_examples=150, deadline=None)
def test_any_bytes_among_known_objects_are_read_or_counted(noise: bytes, at: int) -> None:
    own = decoder()
    own.decode([_KNOWN], NOW_NS)
    for data in (_KNOWN[:at] + noise + _KNOWN[at + len(noise) :], _KNOWN[:at] + noise + _KNOWN[at:], _KNOWN):
        found = own.decode([data], NOW_NS)
        assert found.received == found.values.size + found.drops.total()
