"""Limits of memory, from the files that kernels write."""

import os
from pathlib import Path

import pytest

from ingest.admission.memory import MemoryUse


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


V2 = {"memory.max": "1000\n", "memory.current": "700\n", "memory.stat": "anon 500\ninactive_file 150\n"}
V1 = {
    "memory.limit_in_bytes": "1000\n",
    "memory.usage_in_bytes": "700\n",
    "memory.stat": "cache 3\ninactive_file 1\ntotal_inactive_file 150\n",
}


@pytest.mark.parametrize(
    ("of_process", "folder", "files"),
    [
        ("0::/\n", "", V2),
        ("0::/kubepods/pod1/c1\n", "kubepods/pod1/c1", V2),
        ("0::/kubepods/pod1/c1\n", "kubepods/pod1", V2),  # the limit is that of the pod
        ("4:memory:/docker/c1\n0::/\n", "memory/docker/c1", V1),
        ("4:cpu,memory:/docker/c1\n", "memory", V1),  # the mount is that of the container, the path that of the host
    ],
)
def test_what_is_used_and_allowed(tmp_path: Path, of_process: str, folder: str, files: dict[str, str]) -> None:
    write(tmp_path, {"proc/cgroup": of_process, **{f"group/{folder}/{name}": text for name, text in files.items()}})
    assert MemoryUse(None, tmp_path / "proc", tmp_path / "group").read() == (550, 1000)


def test_the_narrowest_limit_counts(tmp_path: Path) -> None:
    outer = {f"group/a/{name}": text for name, text in V2.items()}
    inner = {f"group/a/b/{name}": text for name, text in (V2 | {"memory.max": "5000\n"}).items()}
    write(tmp_path, {"proc/cgroup": "0::/a/b\n", **outer, **inner})
    assert MemoryUse(None, tmp_path / "proc", tmp_path / "group").read() == (550, 1000)


@pytest.mark.parametrize("limit", ["max\n", "9223372036854771712\n"])
def test_without_a_limit_nothing_is_said(tmp_path: Path, limit: str) -> None:
    files = {f"group/{name}": text for name, text in (V2 | {"memory.max": limit}).items()}
    write(tmp_path, {"proc/cgroup": "0::/\n", **files})
    assert MemoryUse(None, tmp_path / "proc", tmp_path / "group").read() is None
    assert MemoryUse(None, tmp_path / "nothing", tmp_path / "group").read() is None


def test_a_limit_of_the_settings_is_for_the_process_alone(tmp_path: Path) -> None:
    write(tmp_path, {"proc/statm": "100 7 3 1 0 2 0\n"})
    assert MemoryUse(4096, tmp_path / "proc").read() == (7 * os.sysconf("SC_PAGE_SIZE"), 4096)
