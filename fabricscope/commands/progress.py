"""Progress of a command on standard error: a bar after a while, and lines about what it did."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeRemainingColumn

from common.printing import printable

_LONG_S = 2.0


@contextmanager
def progress(shown: bool) -> Iterator[tuple[Callable[[str], None], Callable[[float], None]]]:
    """Functions that print a line, and that show the share done. The bar appears after two seconds, on terminals."""
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    bar = Progress(BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), console=console, transient=True)
    task = bar.add_task("", total=1.0)
    since, started = time.monotonic(), False

    def show(share: float) -> None:
        nonlocal started
        if shown and sys.stderr.isatty() and time.monotonic() - since > _LONG_S:
            if not started:
                bar.start()
                started = True
            bar.update(task, completed=share)

    try:
        yield lambda line: console.print(printable(line), markup=False), show
    finally:
        if started:
            bar.stop()
