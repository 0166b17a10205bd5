"""The switches of a shape."""

from simulator.config import SimulatorConfig
from simulator.shapes.shape import Shape
from telemetry.topology import Device, Role

STORAGE_POD = "storage"
STORAGE_RAILS = 2  # NICs of a storage server, each on a leaf of its own


def build_switches(config: SimulatorConfig) -> list[Device]:
    """Leaves, then what is above them, pod by pod. Switches that connect pods are in none.

    The topology knows leaves and spines only: an aggregation switch is a spine with a pod, a core one without.
    """
    pods = -(-config.hosts // config.pod_hosts)
    leaves = [
        Device(f"leaf{pod * config.leaves_per_pod + slot + 1}", Role.LEAF, f"pod{pod + 1}", f"net{pod + 1}", rails)
        for pod in range(pods)
        for slot, rails in enumerate(_rails(config))
    ]
    if config.shape is Shape.RAIL_ONLY:
        return leaves
    leaves += [Device(f"leaf{len(leaves) + k + 1}", Role.LEAF, STORAGE_POD, "sto1", "") for k in range(STORAGE_RAILS)]
    if config.shape is Shape.THREE_TIER:
        return leaves + _aggregation(config, pods) + _cores(config)
    return leaves + [Device(f"spine{k + 1}", Role.SPINE, "", "core1", "") for k in range(config.spine_count)]


def _rails(config: SimulatorConfig) -> list[str]:
    rails = [str(rail) for rail in range(config.nics_per_host)]
    return ["+".join(rails[at : at + config.leaf_rails]) for at in range(0, len(rails), config.leaf_rails)]


def _aggregation(config: SimulatorConfig, pods: int) -> list[Device]:
    places = [(f"pod{pod + 1}", f"net{pod + 1}") for pod in range(pods)] + [(STORAGE_POD, "sto1")]
    return [
        Device(f"agg{at * config.spine_count + slot + 1}", Role.SPINE, pod, rack, "")
        for at, (pod, rack) in enumerate(places)
        for slot in range(config.spine_count)
    ]


def _cores(config: SimulatorConfig) -> list[Device]:
    """As many for each aggregation switch of a pod as that has leaves, so that it sends up what it takes from below."""
    count = config.spine_count * config.leaves_per_pod
    return [Device(f"core{k + 1}", Role.SPINE, "", "core1", "") for k in range(count)]
