"""Healthy vectors of one kind, thinned out, the newest ones kept: what models are trained on."""

import numpy as np
from numpy.typing import NDArray

from analytics.snapshot.stateful import State

ROWS_MAX = 8192


class History:
    """A ring of float32[ROWS_MAX, F]. since_ns: event time of the first vector, 0 before it."""

    def __init__(self, width: int) -> None:
        self._ring = np.zeros((ROWS_MAX, width), np.float32)
        self._next = 0
        self.size = 0
        self.since_ns = 0

    def add(self, vectors: NDArray[np.float64], at_ns: int) -> None:
        vectors = vectors[-ROWS_MAX:]
        if not len(vectors):
            return
        self.since_ns = self.since_ns or at_ns
        self._ring[(self._next + np.arange(len(vectors))) % ROWS_MAX] = vectors
        self._next = (self._next + len(vectors)) % ROWS_MAX
        self.size = min(self.size + len(vectors), ROWS_MAX)

    def vectors(self) -> NDArray[np.float32]:
        """float32[size, F], a copy, oldest first."""
        return self._ring[(self._next - self.size + np.arange(self.size)) % ROWS_MAX]

    def state(self) -> State:
        return State({"since_ns": self.since_ns}, {"vectors": self.vectors()})

    def restore(self, state: State) -> None:
        self._next = self.size = 0
        self.add(state.arrays["vectors"].astype(np.float64), state.head["since_ns"])
        self.since_ns = state.head["since_ns"]
