"""New versions of what runs on devices, remembered for as long as a fault may come from them."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from analytics.correlate.config import NS_PER_S
from analytics.detectors.telemetry.software import changes
from telemetry.findings import Finding

KEPT_NS = 7 * 24 * 3600 * NS_PER_S  # what a version breaks under the load of every week shows within one (assumption)


@dataclass(frozen=True, slots=True)
class NewVersion:
    """component: kernel, gpu_driver, …. had: the version before. since_ns: when the new one was first seen."""

    component: str
    version: str
    had: str
    since_ns: int


Versions = dict[str, dict[str, NewVersion]]  # by device and component, the newest


def update(versions: Versions, found: Sequence[Finding], devices: Container[str]) -> None:
    """Adds what is new; what is old, or of a device that is no more, goes when something is.

    found: findings that say what is new, by onset.
    """
    for finding in found:
        versions.setdefault(finding.object.device, {}).update({each.component: each for each in new(finding)})
    if not found:
        return
    oldest_ns = found[-1].onset_ns - KEPT_NS
    for name, of_device in list(versions.items()):
        kept = {component: new for component, new in of_device.items() if new.since_ns >= oldest_ns}
        if kept and name in devices:
            versions[name] = kept
        else:
            del versions[name]


def new(finding: Finding) -> list[NewVersion]:
    """What a finding says that is new."""
    return [NewVersion(*each, finding.onset_ns) for each in changes(finding.evidence)]


def text(news: Iterable[NewVersion]) -> str:
    """``gpu_driver 580.105.08, had 570.86.15; kernel 6.8.0-60, had 6.8.0-57``."""
    ordered = sorted(news, key=lambda each: each.component)
    return "; ".join(f"{each.component.replace('_', ' ')} {each.version}, had {each.had}" for each in ordered)
