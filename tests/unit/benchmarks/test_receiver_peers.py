"""Ours beside Telegraf's: each sample of a round comes out of ours, in each round, and Telegraf's are counted."""

import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchmarks import cisco_mdt_peers, otlp_peers, remote_write_peers
from benchmarks.cisco_mdt import SAMPLES_A_PORT
from benchmarks.loads import telegraf
from benchmarks.loads.burst import send_call
from benchmarks.loads.receiver import ReceiverProcess
from benchmarks.loads.telegraf import Telegraf
from benchmarks.loads.turns import spent_s
from benchmarks.otlp import POINTS_A_PORT
from benchmarks.remote_write import SAMPLES_A_NODE
from ingest.collectors.remote_write.decode.body import Message
from tests.servers.process import free_port

# Of Telegraf 1.37.2 with its input cisco_telemetry_mdt.
LOG = b"""\
2026-11-29T13:14:03Z I! [agent] Config: Interval:10s, Quiet:false, Hostname:"", Flush Interval:1s
2026-11-29T13:14:03Z D! [inputs.cisco_telemetry_mdt] Accepted Cisco MDT GRPC dialout connection from 127.0.0.1:60348
2026-11-29T13:14:04Z D! [outputs.discard] Wrote batch of 2 metrics in 804ns
2026-11-29T13:14:04Z D! [outputs.discard] Buffer fullness: 0 / 200000 metrics
2026-11-29T13:14:05Z D! [outputs.discard] Wrote batch of 3 metrics in 1.042\xc2\xb5s
2026-11-29T13:14:05Z D! [outputs.discard] Buffer fullness: 0 / 200000 metrics
"""
ERROR = b"2026-11-29T13:14:04Z E! [inputs.cisco_telemetry_mdt] Error in plugin: failed to decode: proto: cannot parse\n"
OVERFLOW = b"2026-11-29T13:14:04Z W! [outputs.discard] Metric buffer overflow; 7 metrics have been dropped\n"
MDT = cisco_mdt_peers.own, partial(cisco_mdt_peers.round_of, 2, 3), cisco_mdt_peers.SWITCHES * 3 * 2 * SAMPLES_A_PORT
OTLP = otlp_peers.own, partial(otlp_peers.round_of, 2, 3, 4), 3 * 4 * 2 * POINTS_A_PORT


def remote_write(message: Message) -> tuple[Any, Any, int]:
    """Of 2 nodes a request, from 3 senders, each 4 requests."""
    own, made = partial(remote_write_peers.own, message), partial(remote_write_peers.round_of, message, 2, 3, 4)
    return own, made, 3 * 4 * 2 * SAMPLES_A_NODE


@pytest.mark.parametrize(
    ("own", "made", "samples"), [MDT, OTLP, remote_write(Message.FIRST), remote_write(Message.SECOND)]
)
def test_each_sample_of_each_round_comes_out_of_ours(own: Any, made: Any, samples: int) -> None:
    with own() as receiver:
        for number in (1, 2):
            spent_s(receiver, made(), number * samples)


def test_a_call_that_is_refused_is_an_error() -> None:
    port = free_port()
    with (
        ReceiverProcess(cisco_mdt_peers.serve, port),
        pytest.raises(RuntimeError, match="the call ended with status b'12'"),
    ):
        send_call(port, "/mdt_dialout.gRPCMdtDialout/Other", [b"message"])


@pytest.fixture
def idle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Telegraf:
    """One that is not started, with the log of one that was."""
    monkeypatch.setattr(telegraf, "PROGRAM", Path(sys.executable))
    (tmp_path / "one.log").write_bytes(LOG)
    return Telegraf(tmp_path, "one", "[[inputs.cisco_telemetry_mdt]]")


def test_the_metrics_of_all_writes_are_counted(idle: Telegraf) -> None:
    assert idle.written() == 5


@pytest.mark.parametrize("line", [ERROR, OVERFLOW])
def test_what_telegraf_loses_is_an_error(line: bytes, idle: Telegraf, tmp_path: Path) -> None:
    (tmp_path / "one.log").write_bytes(LOG + line)
    with pytest.raises(RuntimeError, match=r"(?s)did not read all of it.*(failed to decode|have been dropped)"):
        idle.written()


def test_a_telegraf_that_is_missing_is_said_with_what_builds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telegraf, "PROGRAM", tmp_path / "telegraf")
    with pytest.raises(SystemExit, match=r"telegraf is missing: .*benchmarks/peers/telegraf/build\.sh"):
        Telegraf(tmp_path, "one", "")
