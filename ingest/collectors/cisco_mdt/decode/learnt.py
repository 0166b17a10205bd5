"""What the scans follow: which names are below which, and what stands at their ends."""

from enum import IntEnum

import numpy as np

from common.wire.span_table import SpanTable
from ingest.collectors.gnmi.decode.columns import IGNORED, SLOW_PATH
from ingest.collectors.gnmi.paths.metadata import MetadataPath
from ingest.collectors.gnmi.paths.resolve import Resolved
from ingest.collectors.gnmi.paths.series_rows import ENDED, Leaf


class Shape(IntEnum):
    """Of the rows with some path and keys, by the slot of these; of objects, by other slots."""

    UNKNOWN = 0
    FLAT = 1  # containers and leaves, each name once
    LISTED = 2  # holds lists: Python reads it each time
    OBJECTS = 3  # of an encoding path: its rows hold objects
    LEFT_OUT = 4  # of an attribute of a class: nothing reads it
    READ = 5  # of an attribute of a class: each object has its own slot for it
    NUMBER = 6  # of an attribute of an object: its text is read as a number


class Learnt:
    """names: what is below what. shapes, slot_rows: by slot; the row of a series, IGNORED, or SLOW_PATH.

    leaves: by slot, what Python reads when its value is none that the scan does. names_max: so many names at most.
    """

    def __init__(self, names_max: int) -> None:
        self.names = SpanTable()
        self.shapes = np.zeros(1024, np.int8)
        self.slot_rows = np.full(1024, IGNORED, np.int32)
        self.leaves: dict[int, Leaf | MetadataPath] = {}
        self._names_max = names_max

    @property
    def has_room(self) -> bool:
        return len(self.names) < self._names_max

    def put(self, name: bytes, parent: int) -> int:
        """The slot of a name below a parent."""
        slot = self.names.put(name, parent)
        while len(self.names) > self.shapes.size:
            self.shapes = np.concatenate((self.shapes, np.zeros_like(self.shapes)))
            self.slot_rows = np.concatenate((self.slot_rows, np.full_like(self.slot_rows, IGNORED)))
        return slot

    def bind(self, slot: int, resolved: Resolved) -> None:
        """What the values at a slot are from now on."""
        if isinstance(resolved, MetadataPath):
            self.slot_rows[slot], self.leaves[slot] = SLOW_PATH, resolved
        elif isinstance(resolved, Leaf) and resolved.row != ENDED:
            self.slot_rows[slot], self.leaves[slot] = resolved.row, resolved
