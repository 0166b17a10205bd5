"""What mmpmon prints: whatever it is, its counters are finite and have a node."""

import math

from common.errors import BadInput
from ingest.collectors.mmpmon.parse import parse_answers, values_of

_LINE = (
    b"_fs_io_s_ _n_ 10.22.0.106 _nn_ node1 _rc_ 0 _t_ 1579358234 _tu_ 53212 _cl_ domain _fs_ scratch _d_ 48 "
    b"_br_ 205607400434 _bw_ 74839282351 _oc_ 2377656 _cc_ 2201576 _rdc_ 59420404 _wc_ 18874626 _dir_ 40971 _iu_ 5\n"
)
SEEDS = (
    _LINE,
    _LINE.replace(b"node1", b"node2") + _LINE,
    b"_fs_io_s_ _n_ a _nn_ b _rc_ 1 _t_ 1 _tu_ 2 _cl_ - _fs_ -\n",
)


def target(data: bytes) -> None:
    try:
        answers, _ = parse_answers(data)
    except BadInput:
        return
    values = values_of(answers, "node1", {})
    assert all(map(math.isfinite, values.numbers))
    assert all(dict(labels)["node"] for _, labels in values.names)
