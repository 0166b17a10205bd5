"""All multivariate models of the engine: one for each kind of device that is switched on."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from analytics.detectors.lifecycle import FindingTracker
from analytics.detectors.multivariate.device_model import DeviceModel, Unhealthy
from analytics.detectors.multivariate.measures import KINDS
from analytics.models.multivariate.config import MultivariateConfig
from analytics.snapshot.stateful import State, Stateful, joined, restore_joined
from analytics.view.tick_view import TickView
from telemetry import objects
from telemetry.findings import Finding, FindingKind, FindingState


class Multivariate:
    """Judges all values of a device together. Devices with a finding of a detector are not learned meanwhile."""

    def __init__(self, config: MultivariateConfig, interval_ns: int) -> None:
        workers = ThreadPoolExecutor(1, "multivariate-training")
        self.models = tuple(DeviceModel(KINDS[name], config, interval_ns, workers) for name in config.kinds)
        self._unhealthy: dict[str, str] = {}  # by finding: the device, or the object itself where it has none

    def update(self, view: TickView, tracker: FindingTracker, findings: Sequence[Finding]) -> list[Finding]:
        """findings: of the detectors in this tick. Returns those that it opens, changes or clears."""
        if not self.models:
            return []
        self._update_unhealthy(findings)
        names = set(self._unhealthy.values())
        numbers = (view.index.objects.get(name) for name in names)
        devices = np.array(sorted(number for number in numbers if number is not None), np.int64)
        unhealthy = Unhealthy(devices, frozenset(name.removeprefix("job:") for name in names))
        changed: list[Finding] = []
        for model in self.models:
            for verdicts in model.judge(view, unhealthy):
                changed.extend(tracker.update(model, verdicts, view))
        return changed

    def _update_unhealthy(self, findings: Sequence[Finding]) -> None:
        for finding in findings:
            if finding.state is FindingState.CLEARED:
                self._unhealthy.pop(finding.id, None)
            elif finding.kind is not FindingKind.DEVIATION:
                device = finding.object.device
                self._unhealthy[finding.id] = str(objects.device(device) if device else finding.object)

    def _parts(self) -> dict[str, Stateful]:
        return {model.device.name: model for model in self.models}

    def state(self) -> State:
        state = joined(self._parts())
        return State({"unhealthy": self._unhealthy, "models": state.head}, state.arrays)

    def restore(self, state: State) -> None:
        self._unhealthy = dict(state.head["unhealthy"])
        restore_joined(self._parts(), State(state.head["models"], state.arrays))
