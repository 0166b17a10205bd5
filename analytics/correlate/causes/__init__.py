"""Cause families: each proposes causes for what is wrong right now, without knowing of the others."""

from collections.abc import Callable, Iterable

from analytics.correlate.cause import Cause
from analytics.correlate.causes import (
    checkpoints,
    damage,
    devices,
    drops,
    environment,
    gpus,
    links,
    parts,
    pfc,
    planned,
    programs,
    rack,
    routing,
    storage,
    storage_paths,
    telemetry_lost,
    transport,
    trends,
    unplaced,
    waves,
)
from analytics.correlate.view import CorrelationView

FAMILIES: tuple[Callable[[CorrelationView], Iterable[Cause]], ...] = (
    planned.propose,
    waves.propose,
    rack.propose,
    devices.propose,
    unplaced.propose,
    parts.propose,
    damage.propose,
    links.propose,
    pfc.propose,
    drops.propose,
    gpus.propose,
    programs.propose,
    transport.propose,
    environment.propose,
    storage.propose,
    storage_paths.propose,
    checkpoints.propose,
    routing.propose,
    telemetry_lost.propose,
    trends.propose,
)
