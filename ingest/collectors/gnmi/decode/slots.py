"""The paths of one target by slot: what each of them is, and on which row its samples go."""

from collections.abc import Callable

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from common.wire.hashed_bytes import UNKNOWN, HashIndex
from ingest.collectors.gnmi.decode.columns import IGNORED, SLOW_PATH
from ingest.collectors.gnmi.decode.flatten import Node
from ingest.collectors.gnmi.decode.path_table import PathTable
from ingest.collectors.gnmi.paths.elements import Elements, elements_of
from ingest.collectors.gnmi.paths.resolve import Resolved
from ingest.collectors.gnmi.paths.series_rows import ENDED, Leaf
from telemetry.gnmi import gnmi_pb2


class PathSlots:
    """Remembers up to ``paths_max`` paths; ``refused`` counts sightings of more.

    resolve: called once for each path, ``resolve_leaf`` for one that is known to be no container.
    rows: int32[>= slots], the row of a path that is a series, else IGNORED or SLOW_PATH.
    """

    def __init__(
        self, resolve: Callable[[Elements], Resolved], resolve_leaf: Callable[[Elements], Resolved], paths_max: int
    ) -> None:
        self._resolve, self._resolve_leaf, self._paths_max = resolve, resolve_leaf, paths_max
        self._paths = PathTable()
        self._resolved: list[Resolved] = []
        self._of_many_keys: dict[Elements, Resolved] = {}
        self._nodes: list[Node] = []
        self.rows: NDArray[np.int32] = np.full(64, IGNORED, np.int32)
        self.refused = 0

    @property
    def index(self) -> HashIndex:
        return self._paths.index

    def slot(self, prefix: bytes, path: bytes, *, is_leaf: bool) -> int:
        """The slot of a path, resolved at first sight; UNKNOWN above ``paths_max`` or when the path is malformed."""
        slot = self._paths.get(prefix, path)
        if slot >= 0:
            return slot
        if len(self._paths) >= self._paths_max:
            self.refused += 1
            return UNKNOWN
        try:
            raw = elements_of(gnmi_pb2.Path.FromString(prefix), gnmi_pb2.Path.FromString(path))
        except DecodeError:
            return UNKNOWN
        slot = self._paths.add(prefix, path)
        resolved = self._resolved_once(raw, self._resolve_leaf if is_leaf else self._resolve)
        self._resolved.append(resolved)
        self._nodes.append(Node(raw))
        if slot >= self.rows.size:
            self.rows = np.concatenate((self.rows, np.full(slot, IGNORED, np.int32)))
        self.rows[slot] = SLOW_PATH if resolved else IGNORED
        if isinstance(resolved, Leaf):
            self.update_row(slot, resolved)
        return slot

    def _resolved_once(self, raw: Elements, resolve: Callable[[Elements], Resolved]) -> Resolved:
        """A step's keys are a map, which protobuf and Go write in any order: then a path has several slots."""
        if all(len(keys) < 2 for _, keys in raw):
            return resolve(raw)
        if raw not in self._of_many_keys:
            self._of_many_keys[raw] = resolve(raw)
        return self._of_many_keys[raw]

    def resolved(self, slot: int) -> Resolved:
        return self._resolved[slot]

    def node(self, slot: int) -> Node:
        """The container at a path, for JSON values."""
        return self._nodes[slot]

    def update_row(self, slot: int, leaf: Leaf) -> None:
        """Call it when a leaf may have another row."""
        self.rows[slot] = leaf.row if leaf.row >= 0 else SLOW_PATH

    def move_rows(self, moved: NDArray[np.int32]) -> None:
        """moved: old row -> new row. A path of an ended series gets a new row with its next value."""
        rows = self.rows
        on_row = rows >= 0
        rows[on_row] = moved[rows[on_row]]
        rows[rows == ENDED] = SLOW_PATH
