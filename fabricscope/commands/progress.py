"""Progress of a command on standard error: a bar after a while, and lines about what it did."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from common.printing import printable

if TYPE_CHECKING:
    from rich.progress import Progress

_LONG_S = 2.0


@contextmanager
def progress(shown: bool) -> Iterator[tuple[Callable[[str], None], Callable[[float], None]]]:
    """Functions that print a line, and that show the share done. The bar appears after two seconds, on terminals."""
    bar: Progress | None = None
    since = time.monotonic()

    def show(share: float) -> None:
        nonlocal bar
        if shown and sys.stderr.isatty() and time.monotonic() - since > _LONG_S:
            bar = bar or _begun()
            bar.update(bar.task_ids[0], completed=share)

    def print_line(line: str) -> None:
        if bar:
            bar.console.print(printable(line), markup=False)
        else:
            print(printable(line), file=sys.stderr)

    try:
        yield print_line, show
    finally:
        if bar:
            bar.stop()


def _begun() -> "Progress":
    """A bar on the terminal. Its library takes a twentieth of a short command's time to load."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeRemainingColumn

    console = Console(stderr=True, soft_wrap=True, highlight=False)
    bar = Progress(BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), console=console, transient=True)
    bar.add_task("", total=1.0)
    bar.start()
    return bar
