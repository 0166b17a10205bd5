"""Files as NCCL Inspector writes them: v4.0 (before 2.29), v4.2, and v4.3 with its markers."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from common.units import NS_PER_S

Record = dict[str, Any]
SN = iter(range(1, 10**9))


def collective(busbw: float = 400.0, exec_us: int = 50_000, **fields: Any) -> Record:
    return {
        "coll": "AllReduce",
        "coll_algo": "RING",
        "coll_proto": "SIMPLE",
        "coll_sn": next(SN),
        "coll_msg_size_bytes": 1 << 30,
        "coll_exec_time_us": exec_us,
        "coll_timing_source": "kernel_gpu",
        "coll_algobw_gbs": busbw / 1.75,
        "coll_busbw_gbs": busbw,
        **fields,
    }


def transfer(busbw: float = 40.0, exec_us: int = 2_000, **fields: Any) -> Record:
    return {
        "p2p": "Send",
        "p2p_sn": next(SN),
        "p2p_peer": 3,
        "p2p_msg_size_bytes": 64 << 20,
        "p2p_exec_time_us": exec_us,
        "p2p_timing_source": "kernel_gpu",
        "p2p_algobw_gbs": busbw,
        "p2p_busbw_gbs": busbw,
        **fields,
    }


def verbose(body: Record, *ended_us: int) -> Record:
    """ended_us: when the kernel of each channel ended."""
    stops = [{"channel_id": n, "kernel_start_ts": 1, "kernel_stop_ts": us} for n, us in enumerate(ended_us)]
    numbers = [{"channel_id": n, "kernel_start_sn": 1, "kernel_stop_sn": 2} for n in range(len(ended_us))]
    return body | {
        "event_trace_sn": {"coll_start_sn": 1, "coll_stop_sn": 2, "kernel_events": numbers},
        "event_trace_ts": {"coll_start_ts": 1, "coll_stop_ts": 2, "kernel_events": stops},
    }


def context(
    dumped_ns: int,
    *,
    version: str,
    rank: int = 0,
    host: str = "node1",
    ranks: int = 4,
    nodes: int = 2,
    name: str = "DP",
) -> Record:
    header: Record = {"id": "0x7f8c496ae9f661", "rank": rank, "n_ranks": ranks, "nnodes": nodes}
    if version != "v4.0":
        header = {"id": header["id"], "comm_name": name, **header}
    metadata = {
        "inspector_output_format_version": version,
        "git_rev": "",
        "rec_mechanism": "nccl_profiler_interface",
        "dump_timestamp_us": dumped_ns // 1000,
        "hostname": host,
        "pid": 4100 + rank,
    }
    return {"header": header, "metadata": metadata}


def lines(records: Iterable[Record]) -> bytes:
    return b"".join(json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in records)


def dump(dumped_ns: int, *bodies: Record, version: str = "v4.3", lost: int = 0, proxies: int = 0, **of: Any) -> bytes:
    """What one dump of one communicator writes. lost: collectives that its ring lost since the dump before."""
    named = [("coll_perf" if "coll" in body else "p2p_perf", body) for body in bodies]
    own = context(dumped_ns, version=version, **of)
    records = [{name: body} if version == "v4.3" else {**own, name: body} for name, body in named]
    if version != "v4.0":
        stats = {
            "coll_records": sum(name == "coll_perf" for name, _ in named),
            "coll_dropped_total": lost,
            "coll_dropped_since_last_dump": lost,
            "p2p_records": sum(name == "p2p_perf" for name, _ in named),
            "p2p_dropped_total": 0,
            "p2p_dropped_since_last_dump": 0,
        }
        records.insert(0, own | {"dump_stats": stats | ({"proxy_records": proxies} if proxies else {})})
    return lines([*records, *({"proxy_trace": {"record_type": "proxy_op", "peer": n}} for n in range(proxies))])


def append(file: Path, data: bytes, at_ns: int) -> None:
    """As a process that has the file open does; at_ns: when it is written."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab") as opened:
        opened.write(data)
    os.utime(file, (at_ns / NS_PER_S, at_ns / NS_PER_S))
