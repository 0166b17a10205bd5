"""All detectors of an engine, each with its own memory, and what they publish."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.lifecycle import FindingTracker
from analytics.detectors.spec import Detector, Verdicts
from analytics.snapshot.stateful import State, joined, restore_joined
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry.findings import Finding

NO_MEMORY = Memory(())


class DetectorSet:
    """failures: detectors that raised, and why; the owner empties the list."""

    def __init__(self, detectors: Iterable[Detector]) -> None:
        self.detectors: Sequence[Detector] = tuple(detectors)
        self.failures: list[tuple[str, Exception]] = []
        self._memories = {detector.name: Memory(detector.memory) for detector in self.detectors if detector.memory}

    def judge(self, view: TickView, tracker: FindingTracker) -> list[Finding]:
        """What this tick opens, changes or clears."""
        return [
            finding
            for detector in self.detectors
            for verdicts in self._judge(detector, view)
            for finding in tracker.update(detector, verdicts, view)
        ]

    def _judge(self, detector: Detector, view: TickView) -> list[Verdicts]:
        """A detector that raises abstains in this tick and its memory stays as it was; the others go on."""
        draft = self._memories[detector.name].draft() if detector.memory else NO_MEMORY
        try:
            verdicts = detector.judge(view, draft)
        except Exception as error:
            self.failures.append((detector.name, error))
            return []
        if detector.memory:
            self._memories[detector.name] = draft
        return verdicts

    def keep(self, sids: NDArray[np.int64]) -> None:
        """Only these series, which have been renumbered in the order given."""
        for memory in self._memories.values():
            memory.keep(sids)

    def state(self) -> State:
        return joined(self._memories)

    def restore(self, state: State) -> None:
        restore_joined(self._memories, state)
