"""A page of comma-separated values: a sample of it is a number at a time that is accepted, and all of it is counted."""

import numpy as np

from common.errors import BadInput
from ingest.collectors.event_time import accepted
from ingest.collectors.exposition.decode.csv_page import CsvReader
from ingest.collectors.exposition.decode.mapping import Mapper
from telemetry.catalogue import origins_of, source

_NOW = 1_760_000_000_000_000_000
_KNOWN = (
    b"timestamp,node_guid,port_num,PortXmitDataExtended,hist3,novel\n"
    b"1759999999000000,0x1,1,1000,7,3\n1759999999000000,0x1,2,2000,,\n"
)
SEEDS = (
    _KNOWN,
    b'Node_GUID,node_description,lid,Port_Number,phy_state\r\n0x1,"a, b",7,1,5\r\n',
    b"node_guid,port_num\n",
)
EXECUTIONS = 200


def target(data: bytes) -> None:
    origins = origins_of("ufm")
    reader = CsvReader(
        "t", "ufm1", Mapper(source("ufm"), {"device": "ufm1"}, origins), source("ufm"), origins, series_max=1000
    )
    for page in (_KNOWN, data, _KNOWN):
        try:
            found = reader.read(page, _NOW)
        except BadInput:
            assert page is not _KNOWN
            continue
        first_ns, last_ns = accepted(_NOW)
        assert not np.isnan(found.values).any()
        assert ((found.times_ns >= first_ns) & (found.times_ns <= last_ns)).all()
        assert found.received >= found.values.size
        assert all(count > 0 for count in found.dropped.values())
