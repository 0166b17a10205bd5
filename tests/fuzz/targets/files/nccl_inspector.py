"""Lines of NCCL Inspector's files: each is read or refused for a reason of the list, wherever a file is cut."""

import numpy as np

from ingest.collectors.nccl_inspector.records import Context, Found, end, read_lines
from ingest.collectors.nccl_inspector.series import OperationSeries
from ingest.collectors.nccl_inspector.windows import add_up, windows_of
from telemetry.series import is_series_key

_HEADER = b'"header":{"id":"0x7f","comm_name":"DP","rank":2,"n_ranks":8,"nnodes":1}'
_METADATA = (
    b'"metadata":{"inspector_output_format_version":"v4.3","git_rev":"","rec_mechanism":"nccl_profiler_interface",'
    b'"dump_timestamp_us":1748030377748202,"hostname":"node1","pid":1639453}'
)
_COLL = (
    b'"coll_perf":{"coll":"AllReduce","coll_algo":"RING","coll_proto":"LL","coll_sn":1407,"coll_msg_size_bytes":17179869184,'
    b'"coll_exec_time_us":61974,"coll_timing_source":"kernel_gpu","coll_algobw_gbs":277.210914,"coll_busbw_gbs":485.119099'
)
_P2P = (
    b'"p2p_perf":{"p2p":"Send","p2p_sn":1,"p2p_peer":3,"p2p_msg_size_bytes":0,"p2p_exec_time_us":7,'
    b'"p2p_timing_source":"kernel_gpu","p2p_algobw_gbs":"nan","p2p_busbw_gbs":"nan"}'
)
_TRACE = (
    b',"event_trace_ts":{"coll_start_ts":1,"kernel_events":[{"channel_id":0,"kernel_stop_ts":1748030377748000}]}}}\n'
)
SEEDS = (
    b"{" + _HEADER + b"," + _METADATA + b"," + _COLL + b"}}\n",
    b"{"
    + _HEADER
    + b","
    + _METADATA
    + b',"dump_stats":{"coll_records":1,"coll_dropped_since_last_dump":5,"p2p_records":1,'
    b'"proxy_records":1}}\n{' + _COLL + _TRACE + b"{" + _P2P + b'}\n{"proxy_trace":{"record_type":"proxy_op"}}\n',
)


def target(data: bytes) -> None:
    """Read as a whole, and line by line, it says the same."""
    whole = _read([data])
    assert _read([line + b"\n" for line in data.split(b"\n")]) == whole


def _read(parts: list[bytes]) -> tuple[list[float], dict[str, int]]:
    """Parts of one file: the values of all samples, and what was refused."""
    series, context, found = OperationSeries("nccl-inspector", "node1", {}, 10), Context("7"), Found()
    for part in parts:
        read_lines(part, context, series.number, found)
    end(context, found)
    read, records = found.read, found.take()
    assert read >= records.operation.size
    samples = series.samples(add_up([windows_of(records, 30 * 10**9)]), {}, 0)
    assert np.isfinite(samples.values).all()
    assert all(map(is_series_key, samples.table.keys))
    return samples.values.tolist(), {reason.value: count for reason, count in found.refused.items() if count}
