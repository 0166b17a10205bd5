"""What is compiled is kept on disk, and recompiled when anything that was compiled into it has changed."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.errors import TypingError
from numpy.typing import NDArray

from common.jit import compiled_uncounted, stamp_of

CALLER = """
from factor import FACTOR
from common.jit import compiled

@compiled
def scaled(x: float) -> float:
    return FACTOR * x

print(scaled(2.0), sum(scaled.stats.cache_hits.values()))
"""


OF_A_CLASS = """
from typing import NamedTuple
from common.jit import compiled

class Pair(NamedTuple):
    one: float
    other: float

@compiled
def total(pair: Pair) -> float:
    return pair.one + pair.other

print(total(Pair(1.0, 2.0)), sum(total.stats.cache_hits.values()))
"""


def run(folder: Path, **environment: str) -> str:
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", f"import sys; sys.path[:0] = ['{folder}', '{root}']; import caller"]
    known = {**os.environ, **environment}
    return subprocess.run(command, cwd=folder, env=known, capture_output=True, text=True, check=True).stdout.strip()


def test_a_changed_constant_of_another_file_is_compiled_in(tmp_path: Path) -> None:
    (tmp_path / "caller.py").write_text(CALLER)
    (tmp_path / "factor.py").write_text("FACTOR = 3.0\n")
    assert run(tmp_path) == "6.0 0"
    assert run(tmp_path) == "6.0 1"
    (tmp_path / "factor.py").write_text("FACTOR = 5.0\n")
    assert run(tmp_path) == "10.0 0"


def test_a_changed_file_of_the_shared_folder_is_compiled_in(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    before = stamp_of(tmp_path, shared)
    stamp_of.cache_clear()
    (shared / "wire.py").write_text("HIGH = 128\n")
    assert stamp_of(tmp_path, shared) != before


def test_a_renamed_class_in_a_signature_is_compiled_again(tmp_path: Path) -> None:
    """The file of what was compiled before names the old class, which cannot be loaded any more."""
    (tmp_path / "caller.py").write_text(OF_A_CLASS)
    assert run(tmp_path) == "3.0 0"
    (tmp_path / "caller.py").write_text(OF_A_CLASS.replace("Pair", "Two"))
    assert run(tmp_path) == "3.0 0"


def test_a_user_who_may_write_nowhere_compiles_in_each_process(tmp_path: Path) -> None:
    """The cache beside the source, and the user's own, cannot be made: files are where their folders would be."""
    (tmp_path / "caller.py").write_text(CALLER)
    (tmp_path / "factor.py").write_text("FACTOR = 3.0\n")
    (tmp_path / "__pycache__").write_text("")
    blocked = {"HOME": str(tmp_path / "factor.py"), "XDG_CACHE_HOME": str(tmp_path / "factor.py")}
    assert [run(tmp_path, **blocked) for _ in range(2)] == ["6.0 0", "6.0 0"]


def test_what_an_image_ships_is_loaded_and_not_compiled(tmp_path: Path) -> None:
    (tmp_path / "caller.py").write_text(CALLER)
    (tmp_path / "factor.py").write_text("FACTOR = 3.0\n")
    shipped, data = tmp_path / "shipped", tmp_path / "data"
    assert run(tmp_path, NUMBA_CACHE_DIR=str(shipped)) == "6.0 0"
    files = {file: file.read_bytes() for file in shipped.rglob("*.nb*")}
    for _ in range(2):
        assert run(tmp_path, NUMBA_CACHE_DIR=str(data), FABRICSCOPE_COMPILED=str(shipped)) == "6.0 1"
    assert {data / file.relative_to(shipped) for file in files} == {*data.rglob("*.nb*")}
    assert {file: file.read_bytes() for file in shipped.rglob("*.nb*")} == files, "an image is read-only"


def test_what_an_image_ships_replaces_nothing_that_was_compiled_for_another_cpu(tmp_path: Path) -> None:
    (tmp_path / "caller.py").write_text(CALLER)
    (tmp_path / "factor.py").write_text("FACTOR = 3.0\n")
    shipped, data = tmp_path / "shipped", tmp_path / "data"
    run(tmp_path, NUMBA_CACHE_DIR=str(shipped), NUMBA_CPU_NAME="generic")
    with_shipped = {"NUMBA_CACHE_DIR": str(data), "FABRICSCOPE_COMPILED": str(shipped)}
    assert [run(tmp_path, **with_shipped) for _ in range(2)] == ["6.0 0", "6.0 1"]
    assert len([*data.rglob("*.nbc")]) == 2


def test_what_counts_no_references_leaves_those_of_its_caller_as_they_are() -> None:
    @compiled_uncounted
    def total(pair: tuple[NDArray[np.int64], NDArray[np.int64]], at: int) -> int:
        one, other = pair
        return int(one[at:].sum() + other[at:].sum())

    numbers = np.arange(4)
    before = sys.getrefcount(numbers)
    assert [total((numbers, numbers), 2) for _ in range(100)] == [10] * 100
    assert sys.getrefcount(numbers) == before
    assert numbers.tolist() == [0, 1, 2, 3]


def test_what_counts_no_references_makes_no_array() -> None:
    @compiled_uncounted
    def zeros(n: int) -> float:
        return float(np.zeros(n)[0])

    with pytest.raises(TypingError):
        zeros(1)


def test_what_counts_no_references_returns_no_array() -> None:
    def same(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        return numbers

    with pytest.raises(AssertionError):
        compiled_uncounted(same)
