"""Whether a process gets the CPU that it asks for: from the kernel's counts, made up and real."""

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from ingest.admission.cpu_shortage import CpuShortage

_ROOT = Path(__file__).resolve().parents[4]
_SPIN = """
import time
from ingest.admission.cpu_shortage import CpuShortage
cpu = CpuShortage()
until_s = time.monotonic() + 2
while time.monotonic() < until_s:
    pass
cpu.measure()
print(cpu.share)
"""


class Threads:
    """The kernel's files of some threads, and a clock."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.now_s = folder, 1000.0
        self.cpu = CpuShortage(folder, lambda: self.now_s)

    def waited(self, **seconds: float) -> None:
        """By thread, since it was begun."""
        for thread, waited_s in seconds.items():
            (self.folder / thread).mkdir(exist_ok=True)
            (self.folder / thread / "schedstat").write_text(f"71 {int(waited_s * 1e9)} 3\n")

    def measure(self, after_s: float) -> float:
        self.now_s += after_s
        self.cpu.measure()
        return self.cpu.share


def test_all_threads_that_were_there_count(tmp_path: Path) -> None:
    threads = Threads(tmp_path)
    threads.waited(t1=100, t2=5)
    assert threads.measure(1) == 0, "threads that are new, with all that they have ever waited"
    threads.waited(t1=100.2, t2=5.4, t3=7)
    assert threads.measure(1) == pytest.approx(0.6)
    assert threads.cpu.is_short()
    threads.waited(t1=100.4)
    assert threads.measure(1) == pytest.approx(0.2)
    assert not threads.cpu.is_short()


def test_it_is_measured_over_a_while(tmp_path: Path) -> None:
    threads = Threads(tmp_path)
    threads.waited(t1=0)
    threads.measure(1)
    threads.waited(t1=0.04)
    assert threads.measure(0.05) == 0
    assert threads.measure(0.35) == pytest.approx(0.1)


def test_where_nothing_is_counted_none_is_short(tmp_path: Path) -> None:
    assert Threads(tmp_path / "absent").measure(1) == 0
    (tmp_path / "t1").mkdir()
    (tmp_path / "t1" / "schedstat").write_text("")
    assert Threads(tmp_path).measure(1) == 0


def test_a_process_beside_three_others_on_its_core_is_short() -> None:
    on_core = ["taskset", "--cpu-list", str(min(os.sched_getaffinity(0))), sys.executable, "-c"]
    with ExitStack() as stack:
        for _ in range(3):
            loop = subprocess.Popen([*on_core, "while True: pass"])
            stack.callback(loop.wait)
            stack.callback(loop.kill)
        share = subprocess.run([*on_core, _SPIN], capture_output=True, text=True, check=True, cwd=_ROOT).stdout
    assert float(share) >= 0.5
