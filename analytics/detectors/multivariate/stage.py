"""All multivariate models of the engine: one for each kind of device that is switched on."""

from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from analytics.detectors.lifecycle import FindingTracker
from analytics.detectors.multivariate.device_model import DeviceModel, Unhealthy
from analytics.detectors.multivariate.measures import KINDS, definition
from analytics.models.multivariate.config import MultivariateConfig
from analytics.snapshot.block import Block, Rule
from analytics.snapshot.stateful import State
from analytics.view.tick_view import TickView
from telemetry import objects
from telemetry.findings import Finding, FindingKind, FindingState


class Multivariate:
    """Judges all values of a device together. Devices with a finding of a detector are not learned meanwhile.

    workers: train the models; None: a thread of its own.
    """

    def __init__(self, config: MultivariateConfig, interval_ns: int, workers: Executor | None = None) -> None:
        workers = workers or ThreadPoolExecutor(1, "multivariate-training")
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

    @property
    def blocks(self) -> dict[str, Block]:
        """What is known of the devices of each kind, and beside it the model, which another method cannot use."""
        found: dict[str, Block] = {}
        for model in self.models:
            rule = Rule(settings=("interval_s",), metrics=model.metrics, definition=definition(model.device))
            found[f"multivariate.{model.device.name}"] = Block(model, rule)
            of_method = replace(rule, settings=(*rule.settings, "multivariate.method"))
            found[f"multivariate.{model.device.name}.model"] = Block(model.training, of_method)
        return found

    def state(self) -> State:
        """Of all kinds; each model has a block of its own."""
        return State(self._unhealthy, {})

    def restore(self, state: State) -> None:
        self._unhealthy = dict(state.head)
