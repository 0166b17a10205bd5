"""The most memory that something takes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PROCESS = Path("/proc/self")


@contextmanager
def grows_by_less_than(bytes_max: int) -> Iterator[None]:
    """AssertionError where this process holds so many bytes more at any moment within, whatever it held before."""
    (_PROCESS / "clear_refs").write_text("5")  # the peak begins again at what is held now: proc(5)
    before = _peak_bytes()
    yield
    assert _peak_bytes() - before < bytes_max


def _peak_bytes() -> int:
    fields = dict(line.split(":", 1) for line in (_PROCESS / "status").read_text().splitlines())
    return int(fields["VmHWM"].split()[0]) * 1024
