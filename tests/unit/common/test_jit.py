"""What is compiled is kept on disk, and recompiled when anything that was compiled into it has changed."""

import subprocess
import sys
from pathlib import Path

CALLER = """
from factor import FACTOR
from common.jit import compiled

@compiled
def scaled(x: float) -> float:
    return FACTOR * x

print(scaled(2.0), sum(scaled.stats.cache_hits.values()))
"""


def run(folder: Path) -> str:
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", f"import sys; sys.path[:0] = ['{folder}', '{root}']; import caller"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def test_a_changed_constant_of_another_file_is_compiled_in(tmp_path: Path) -> None:
    (tmp_path / "caller.py").write_text(CALLER)
    (tmp_path / "factor.py").write_text("FACTOR = 3.0\n")
    assert run(tmp_path) == "6.0 0"
    assert run(tmp_path) == "6.0 1"
    (tmp_path / "factor.py").write_text("FACTOR = 5.0\n")
    assert run(tmp_path) == "10.0 0"
