"""How far a spool was published: read again after any write, also a torn one."""

import struct
import zlib
from pathlib import Path

import orjson
import pytest

from common.errors import ConfigError
from ingest.ledger import Counts, DropReason
from ingest.spool import state_file
from ingest.spool.record import Amount
from ingest.spool.state_file import Position, State, StateFile


def state(number: int) -> State:
    counts = Counts(5, number, number // 2, {DropReason.QUOTA: 1, DropReason.KILLED: 2})
    return State(Position(number, 77), Amount(number, 1, 2), Amount(number + 10, 3, 4), counts)


def test_the_newest_write_is_read(tmp_path: Path) -> None:
    file = StateFile(tmp_path, "folder")
    for number in range(1, 6):
        file.write(state(number))
        assert StateFile(tmp_path, "folder").read() == state(number)
    file.close()
    file.close()
    following = StateFile(tmp_path, "folder")
    assert following.read() == state(5)
    following.write(state(6))
    assert StateFile(tmp_path, "folder").read() == state(6)


def test_a_torn_write_leaves_the_one_before_it(tmp_path: Path) -> None:
    file = StateFile(tmp_path, "folder")
    for number in (1, 2, 3):
        file.write(state(number))
    data = bytearray((tmp_path / "state").read_bytes())
    at = data.index(orjson.dumps(list(state(3).position)))
    data[at : at + 20] = bytes(20)
    (tmp_path / "state").write_bytes(data)
    assert StateFile(tmp_path, "folder").read() == state(2)


@pytest.mark.parametrize("data", [b"", b"x", bytes(4096), bytes(8192), b"\xff" * 8192])
def test_what_is_no_state_is_none(tmp_path: Path, data: bytes) -> None:
    assert StateFile(tmp_path, "folder").read() is None
    (tmp_path / "state").write_bytes(data)
    file = StateFile(tmp_path, "folder")
    assert file.read() is None
    file.write(state(1))
    assert StateFile(tmp_path, "folder").read() == state(1)


@pytest.mark.parametrize(
    "content",
    [
        b"not JSON",
        b"[]",
        b"{}",
        b'{"format": "1"}',
        b'{"format": 1, "drops": {}}',
        b'{"format":1,"position":[0,"a"],"published":[0,0,0],"written":[0,0,0],"epoch_ns":1,"samples_in":0,'
        b'"samples_out":0,"drops":{}}',
        b'{"format":1,"position":[0,0],"published":[0,0,0],"written":[18446744073709551615,0,0],"epoch_ns":1,'
        b'"samples_in":0,"samples_out":0,"drops":{}}',
        b'{"format":1,"position":[0],"published":[0,0,0],"written":[0,0,0],"epoch_ns":1,"samples_in":0,'
        b'"samples_out":0,"drops":{}}',
    ],
)
def test_what_is_no_state_under_a_fitting_sum_is_none(tmp_path: Path, content: bytes) -> None:
    body = struct.pack("<IQ", len(content), 1) + content
    (tmp_path / "state").write_bytes(zlib.crc32(body).to_bytes(4, "little") + body)
    assert StateFile(tmp_path, "folder").read() is None


def test_counts_by_a_reason_that_is_not_known_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of another release with the same format: what waits is published all the same."""
    StateFile(tmp_path, "folder").write(state(1))
    monkeypatch.setattr(state_file, "DropReason", [DropReason.QUOTA])
    assert StateFile(tmp_path, "folder").read() is None


def test_a_newer_format_is_refused_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_file, "FORMAT", 2)
    StateFile(tmp_path, "folder").write(state(1))
    monkeypatch.undo()
    with pytest.raises(ConfigError, match=r"folder .*: written in format 2, this version reads 1: .* move the folder"):
        StateFile(tmp_path, "folder").read()
