"""All detectors of an engine, each with its own memory, and what they publish."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.lifecycle import FindingTracker
from analytics.detectors.spec import Detector, Verdicts
from analytics.snapshot.block import Block, Rule
from analytics.snapshot.stateful import State
from analytics.state.memory import Memory
from analytics.state.series_index import SeriesIndex
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
            for detector in self._reading(view)
            for verdicts in self._judge(detector, view)
            for finding in tracker.update(detector, verdicts, view)
        ]

    def judge_light(self, view: TickView, tracker: FindingTracker) -> list[Finding]:
        """What a light tick opens, by hard evidence."""
        return [
            finding
            for detector in self._reading(view)
            if detector.light
            for verdicts in self._judge(detector, view)
            for finding in tracker.open(detector, verdicts, view)
        ]

    def _reading(self, view: TickView) -> Sequence[Detector]:
        """Those that have something to read: few clusters have all sources."""
        return view.data.selections.per_series(
            self, lambda index: [detector for detector in self.detectors if _has_series(detector, index)]
        )

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

    def other_than(self, before: Iterable[Detector]) -> set[str]:
        """Names of those that are not among ``before`` with the same limits."""
        known = {detector.name: detector for detector in before}
        return {detector.name for detector in self.detectors if known.get(detector.name) != detector}

    def keep(self, sids: NDArray[np.int64]) -> None:
        """Only these series, which have been renumbered in the order given."""
        for memory in self._memories.values():
            memory.keep(sids)

    @property
    def blocks(self) -> dict[str, Block]:
        """The memory of each, as a block of its own."""
        return {
            f"detectors.{detector.name}": Block(_Held(self._memories, detector.name), _rule(detector))
            for detector in self.detectors
            if detector.memory
        }


class _Held:
    """The memory of one detector, which is another object after every tick."""

    def __init__(self, memories: Mapping[str, Memory], name: str) -> None:
        self._memories, self._name = memories, name

    def state(self) -> State:
        return self._memories[self._name].state()

    def restore(self, state: State) -> None:
        self._memories[self._name].restore(state)


def _has_series(detector: Detector, index: SeriesIndex) -> bool:
    """Whether there is, or was, a series of anything that it reads."""
    always = detector.by_targets or not detector.metrics
    return always or any(index.metrics.get(name) is not None for name in detector.metrics)


def _rule(detector: Detector) -> Rule:
    settings = dict.fromkeys(path for column in detector.memory for path in column.settings)
    migrations = detector.memory_migrations
    return Rule(format=detector.memory_format, migrations=migrations, settings=tuple(settings))
