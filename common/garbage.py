"""How often Python looks for reference cycles in a process that keeps a cluster in memory.

By default it looks at what is new after each 700 objects, and a step of correlation in a storm makes thousands that
stay: looking at them again and again takes a tenth of its time (``python -m benchmarks.correlation``). Looking at more
at once takes no less in all, and makes the step longer in which it happens: at 50,000 objects by a quarter.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG_OBJECTS = 5_000  # some hundred kilobytes: a millisecond
YOUNG_COLLECTIONS, MIDDLE_COLLECTIONS = 200, 50  # until the next older generation is looked at


def collect_less_often() -> None:
    """For the whole process. What is in no cycle is freed at once, as ever."""
    gc.set_threshold(YOUNG_OBJECTS, YOUNG_COLLECTIONS, MIDDLE_COLLECTIONS)


@contextmanager
def all_kept() -> Iterator[None]:
    """What is made meanwhile stays: modules, say. No garbage is looked for, then or later, among it."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
