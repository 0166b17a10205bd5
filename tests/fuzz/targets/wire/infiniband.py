"""ibnetdiscover's and perfquery's texts: what of them becomes facts can be read by those who consume them."""

import math

from common.errors import BadInput
from ingest.collectors.infiniband.collector import values_of
from ingest.collectors.infiniband.perfquery import parse_counters
from ingest.collectors.infiniband.topology import link_facts, links_of, names_of, parse_topology
from telemetry.codec.records import decode_record, encode_record
from telemetry.topology import TopologyFact

_NOW = 1_760_000_000_000_000_000
_LINKS = (
    b"CA   134  1 0x7cfe9003003b4bde 4x EDR - SW  1719 10 0x7cfe9003009ce5b0 ( 'o0001 HCA-1' - 'MF0;l1:MQM8700/U1' )\n"
    b"SW  1719 10 0x7cfe9003009ce5b0 4x EDR - CA   134  1 0x7cfe9003003b4bde ( 'MF0;l1:MQM8700/U1' - 'o0001 HCA-1' )\n"
)
_COUNTERS = (
    b"# Port extended counters: Lid 134 port 1 (CapMask: 0x5A00)\nPortXmitData:......5\nCounterSelect:...0x0000\n"
)
SEEDS = (_LINKS, _COUNTERS, b"SW  2052 37 0x506b4b03005c2740 4x ???      'ib-i4l1s01'\n")


def target(data: bytes) -> None:
    names = names_of(parse_topology(_LINKS))
    try:
        fabric = parse_topology(data)
    except BadInput:
        pass
    else:
        names = names_of(fabric)
        known, facts = link_facts({}, links_of(fabric, names), _NOW, 0, "ib")
        facts += link_facts(known, {}, _NOW, 0, "ib")[1]
        for fact in facts:
            assert decode_record(encode_record(fact), TopologyFact) == fact
    try:
        readings, _ = parse_counters(data)
    except BadInput:
        return
    assert all(map(math.isfinite, values_of(readings, names).numbers))
