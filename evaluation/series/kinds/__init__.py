"""``KINDS``: every kind of healthy series, a function of a random generator."""

from collections.abc import Callable

import numpy as np

from evaluation.series.kinds import gpus, hosts, sensors, services, shapes
from evaluation.series.signals import Signal

# In this order: the position of a kind is part of the seed of its series.
KINDS: dict[str, Callable[[np.random.Generator], Signal]] = {
    kind.__name__: kind
    for kind in (
        services.web_traffic,
        services.balancer_requests,
        services.ad_clicks,
        services.cost_per_click,
        services.sales,
        hosts.cpu_batch,
        hosts.cpu_quiet,
        hosts.memory_sawtooth,
        hosts.network_bytes,
        hosts.disk_latency,
        hosts.queue_length,
        hosts.error_count,
        sensors.room_temperature,
        sensors.machine_temperature,
        services.mentions,
        sensors.road_occupancy,
        sensors.road_speed,
        shapes.daily_plateau,
        shapes.square_wave,
        shapes.sine,
        shapes.noisy_constant,
        shapes.random_walk,
        gpus.tensor_activity,
        gpus.pfc_frames,
    )
}
