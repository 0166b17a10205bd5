"""How much memory there is for this process, and how much of it is used: by its cgroup, or by a setting."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class _Version:
    """Files of a cgroup. cache: in ``memory.stat``, what the kernel takes back before it ends a process."""

    mount: str
    limit: str
    used: str
    cache: str


_V1 = _Version("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_V2 = _Version("", "memory.max", "memory.current", "inactive_file")
_V2_BESIDE_V1 = _Version("unified", "memory.max", "memory.current", "inactive_file")
_UNLIMITED_BYTES = 1 << 60  # version 1 has no word for it


class MemoryUse:
    """bytes_max: the limit for this process alone; None for that of its cgroup, which may hold others.

    proc, cgroups: where the kernel's files are.
    """

    def __init__(
        self, bytes_max: int | None, proc: Path = Path("/proc/self"), cgroups: Path = Path("/sys/fs/cgroup")
    ) -> None:
        self._bytes_max, self._proc = bytes_max, proc
        found = [] if bytes_max is not None else list(_limited(proc, cgroups))
        self._group = min(found, key=lambda each: each[0])[1:] if found else None

    def read(self) -> tuple[int, int] | None:
        """Bytes in use and bytes allowed; None without a limit."""
        if self._bytes_max is not None:
            return int((self._proc / "statm").read_text().split()[1]) * _PAGE_BYTES, self._bytes_max
        if self._group is None:
            return None
        folder, files = self._group
        try:
            limit = _limit(folder, files)  # it can be changed while we run
            return None if limit is None else (_used(folder, files), limit)
        except OSError:
            return None


def _limited(proc: Path, cgroups: Path) -> Iterator[tuple[int, Path, _Version]]:
    """The cgroups of this process that have a limit: its own and those around it.

    In a container its own path may be that of the host, and then only the mount itself is there.
    """
    try:
        lines = (proc / "cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        for files in (_V2, _V2_BESIDE_V1) if not controllers else (_V1,) if "memory" in controllers.split(",") else ():
            mount = cgroups / files.mount
            own = mount / path.lstrip("/")
            for folder in (own, *own.parents):
                if folder.is_relative_to(mount) and (limit := _limit(folder, files)) is not None:
                    yield limit, folder, files


def _limit(folder: Path, files: _Version) -> int | None:
    try:
        text = (folder / files.limit).read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() and int(text) < _UNLIMITED_BYTES else None


def _used(folder: Path, files: _Version) -> int:
    stat = dict(line.split(" ", 1) for line in (folder / "memory.stat").read_text().splitlines())
    return max(0, int((folder / files.used).read_text()) - int(stat.get(files.cache, 0)))
