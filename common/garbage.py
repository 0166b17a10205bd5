"""How often Python looks for reference cycles in a process that keeps a cluster in memory.

By default it looks at what is new after each 700 objects, and a step of correlation in a storm makes tens of thousands
that stay: looking at them again and again takes a tenth of its time (``python -m benchmarks.correlation``).
"""

import gc

YOUNG_OBJECTS = 50_000  # some megabytes; more of them gained nothing
YOUNG_COLLECTIONS, MIDDLE_COLLECTIONS = 20, 50  # until the next older generation is looked at


def collect_less_often() -> None:
    """For the whole process. What is in no cycle is freed at once, as ever."""
    gc.set_threshold(YOUNG_OBJECTS, YOUNG_COLLECTIONS, MIDDLE_COLLECTIONS)
