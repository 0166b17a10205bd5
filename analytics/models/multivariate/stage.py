"""The multivariate step of the engine: one watch for each kind that is switched on."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.lifecycle import FindingsBook
from analytics.models.multivariate.config import MultivariateConfig
from analytics.models.multivariate.device_model import Watch
from analytics.models.multivariate.measures import KINDS
from analytics.state.view import View
from telemetry import objects
from telemetry.findings import Finding, FindingKind, FindingState


class Multivariate:
    """Looks at each device's values together. Devices with a finding of another detector teach nothing meanwhile."""

    def __init__(self, config: MultivariateConfig, interval_ns: int) -> None:
        workers = ThreadPoolExecutor(1, "multivariate-training")
        self.watches = tuple(Watch(KINDS[name], config, interval_ns, workers) for name in config.kinds)
        self.troubled: dict[str, str] = {}  # by finding: the device, or the object itself where it has none

    def step(self, view: View, book: FindingsBook, findings: Sequence[Finding]) -> list[Finding]:
        """findings: what the other detectors said in this tick. Returns those that it opens, changes or clears."""
        if not self.watches:
            return []
        self._note(findings)
        names = (view.registry.objects.find(name) for name in set(self.troubled.values()))
        sick = np.array(sorted(number for number in names if number is not None), np.int64)
        slowed = frozenset(name.removeprefix("job:") for name in self.troubled.values())
        opened: list[Finding] = []
        for watch in self.watches:
            watch.sick, watch.slowed = sick, slowed
            for verdicts in watch.judge(view):
                opened.extend(book.settle(watch, verdicts, view))
        return opened

    def _note(self, findings: Sequence[Finding]) -> None:
        for finding in findings:
            if finding.state is FindingState.CLEARED:
                self.troubled.pop(finding.id, None)
            elif finding.kind is not FindingKind.DEVIATION:
                device = finding.object.device
                self.troubled[finding.id] = str(objects.device(device) if device else finding.object)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """JSON part and arrays."""
        head: dict[str, Any] = {"troubled": self.troubled}
        arrays: dict[str, NDArray[Any]] = {}
        for watch in self.watches:
            name = watch.device.name
            head[name], of_watch = watch.state()
            arrays |= {f"{name}.{key}": array for key, array in of_watch.items()}
        return head, arrays

    def restore(self, head: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        self.troubled = dict(head["troubled"])
        for watch in self.watches:
            prefix = f"{watch.device.name}."
            of_watch = {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}
            watch.restore(head[watch.device.name], of_watch)
