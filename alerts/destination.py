"""Where the notifications of some settings go: two processes for which that is the same send to the same people."""

from typing import Any

from alerts.config import AlertingConfig
from bus.owner.role import with_contents


def destination_of(config: AlertingConfig) -> dict[str, Any]:
    """Receivers, routes and the cluster's name, with the secrets in files. Blocking.

    Whatever differs in a receiver makes another destination: two that send a page twice, under one key, are better than
    one that is muted by somebody who tries something out. How often and how soon pages are sent says nothing of where.
    """
    receivers = [with_contents(each.model_dump(mode="json")) for each in config.receivers]
    return {
        "cluster": config.cluster,
        "receivers": sorted(receivers, key=lambda each: str(each["name"])),
        "routes": [route.model_dump(mode="json") for route in config.routes],
        "fallback": config.fallback,
    }
