"""Everything that faults set in a machine, to compare before and after."""

import numpy as np

from simulator.machine import Machine


def knobs(machine: Machine) -> dict[str, list[object]]:
    """Everything that faults set."""
    return {
        "clocks": machine.gpus.stuck.tolist(),
        "cooling": machine.gpus.cooling.tolist(),
        "inlet of GPUs": np.round(machine.gpus.inlet, 6).tolist(),
        "hung": machine.gpus.hung.tolist(),
        "present": machine.gpus.present.tolist(),
        "inlet of hosts": np.round(machine.hosts.inlet, 6).tolist(),
        "attenuation": machine.optics.attenuation_db.tolist(),
        "cuts": machine.links.cuts.tolist(),
        "speed": machine.links.speed_factor.tolist(),
        "on": machine.links.device_on.tolist(),
        "stalled": machine.stalled.tolist(),
        "targets": machine.storage.speed.tolist(),
        "clients": machine.storage.client_speed.tolist(),
        "frozen": machine.readings.frozen.tolist(),
        "drained": sorted(machine.jobs.drained),
        "off the bus": machine.off_the_bus.tolist(),
        "pace": machine.gpus.pace.tolist(),
        "nvlink": machine.gpus.nvlink.tolist(),
        "braked": machine.gpus.braked.tolist(),
        "cores": machine.hosts.network_cores.tolist(),
        "held": machine.fabric.queues.held.tolist(),
        "tail drop": machine.fabric.queues.tail_drop.tolist(),
        "far ends": [machine.fabric.queues.at.tolist(), machine.fabric.queues.switch_behind.tolist()],
        "daemons": sorted(machine.routes.daemons_down.elements()),
        "reachable": machine.readings.devices.reachable.tolist(),
    }
