"""State on disk: arrays come back as they were, damage is noticed, and a write that fails leaves the old file."""

import errno
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from analytics.snapshot import state_file, string_table
from common.errors import BadInput

HEAD = {"version": 1, "of": ["a", "b"]}
ARRAYS: dict[str, NDArray[Any]] = {
    "numbers": np.random.default_rng(1).normal(size=300_000),
    "nothing": np.zeros((0, 7), np.float32),
    "table": np.arange(24, dtype=np.int32).reshape(2, 3, 4),
    "every other": np.arange(10, dtype=np.uint8)[::2],
    "flags": np.array([True, False]),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "folder" / "state"
    state_file.write(path, HEAD, ARRAYS)
    return path


def test_head_and_arrays_come_back(path: Path) -> None:
    head, arrays = state_file.read(path)
    assert head == HEAD
    assert list(arrays) == list(ARRAYS)
    for name, array in arrays.items():
        assert array.dtype == ARRAYS[name].dtype
        assert array.flags.owndata
        assert np.array_equal(array, ARRAYS[name])


def test_what_is_more_than_one_part_on_disk_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_file, "_BLOCK_BYTES", 1000)
    monkeypatch.setattr(state_file, "_SYNCED_BYTES", 5000)
    state_file.write(tmp_path / "state", HEAD, ARRAYS)
    _, arrays = state_file.read(tmp_path / "state")
    assert all(np.array_equal(array, ARRAYS[name]) for name, array in arrays.items())


@pytest.mark.parametrize("place", [0, 5, 9, 13, 30, 1000, -1])
def test_one_flipped_bit_is_noticed(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 4
    path.write_bytes(content)
    with pytest.raises(BadInput):
        state_file.read(path)


@pytest.mark.parametrize("kept", [0, 3, 20, 100, 10_000, -1])
def test_a_torn_file_is_noticed(path: Path, kept: int) -> None:
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(BadInput, match="bytes"):
        state_file.read(path)


def test_writing_replaces_the_file_and_leaves_no_draft(path: Path) -> None:
    state_file.write(path, "new", {})
    assert state_file.read(path) == ("new", {})
    assert [entry.name for entry in path.parent.iterdir()] == ["state"]


@contextmanager
def file_size_max(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_write_that_finds_no_room_leaves_the_old_file_and_no_draft(path: Path) -> None:
    with file_size_max(1_000_000), pytest.raises(OSError, match="too large") as raised:
        state_file.write(path, "new", ARRAYS)
    assert raised.value.errno == errno.EFBIG
    assert state_file.read(path)[0] == HEAD
    assert [entry.name for entry in path.parent.iterdir()] == ["state"]


WRITES_FOR_EVER = """
import sys
from pathlib import Path
from typing import Any
import numpy as np
from analytics.snapshot import state_file
number = 0
while True:
    number += 1
    state_file.write(Path(sys.argv[1]), number, {"all": np.full(4_000_000, number)})
"""


def test_a_process_that_is_killed_while_it_writes_leaves_a_whole_file(path: Path) -> None:
    newest = 0
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", WRITES_FOR_EVER, str(path)]) as process:
            draft = path.with_name("state.new")
            while state_file.read(path)[0] == HEAD or not draft.exists():
                time.sleep(0.001)
            process.send_signal(signal.SIGKILL)
        newest, arrays = state_file.read(path)
        assert (arrays["all"] == newest).all()
        state_file.write(path, HEAD, {})  # over the draft that was left
    assert newest
    assert [entry.name for entry in path.parent.iterdir()] == ["state"]


@given(st.lists(st.text()))
def test_texts_come_back(strings: list[str]) -> None:
    assert string_table.unpack(string_table.pack(strings)) == strings


def test_many_texts_come_back() -> None:
    strings = [f"line\n{number}" for number in range(10_000)]
    assert string_table.unpack(string_table.pack(strings)) == strings


def test_texts_that_grow_are_packed_again() -> None:
    strings = ["first"]
    packed = string_table.Packed(strings)
    for grown in (4095, 4096, 4097, 9000, 9000):
        strings.extend(str(number) for number in range(len(strings), grown))
        assert string_table.unpack(packed.array()) == strings
