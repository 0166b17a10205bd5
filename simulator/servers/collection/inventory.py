"""The inventory file that people keep: what its records say, with the links that nobody else reports."""

from typing import Any

from simulator.collection.inventory import recorded
from simulator.layout import Layout, topology_facts
from simulator.servers.collection.plan import CollectionPlan
from telemetry.topology import Device, Entity, Gpu, Link, Mount, StorageTarget


def recorded_document(plan: CollectionPlan, layout: Layout) -> dict[str, Any]:
    """What a campaign's inventory has, as a file; {} when nobody keeps one.

    The file has no time of its own: ingest takes what it says as of when it read it, however old the records are.
    """
    facts = recorded(topology_facts(layout, plan.start_ns), plan.config.inventory, plan.draws.rng("inventory"))
    found: dict[str, list[dict[str, Any]]] = {}
    for fact in facts:
        name, entry = _entry(fact.entity)
        found.setdefault(name, []).append(entry)
    return found


def device_entry(device: Device) -> dict[str, Any]:
    """What the file says of a device: its name and role, and of the rest what is known."""
    rest = {name: getattr(device, name) for name in ("pod", "rack", "rail", "asic")}
    return {"name": device.name, "role": device.role.value} | {name: text for name, text in rest.items() if text}


def _entry(entity: Entity) -> tuple[str, dict[str, Any]]:
    """Section and entry of the file."""
    match entity:
        case Device():
            return "devices", device_entry(entity)
        case Link():
            ends = {"from": f"{entity.a_device}/{entity.a_port}", "to": f"{entity.b_device}/{entity.b_port}"}
            return "links", ends | {"speed": entity.bits_per_second}
        case Gpu():
            fields = ("device", "uuid", "index", "nic_port", "model")
            return "gpus", {name: getattr(entity, name) for name in fields}
        case StorageTarget():
            return "storage_targets", {name: getattr(entity, name) for name in ("filesystem", "target", "server")}
        case _:
            assert isinstance(entity, Mount), "jobs are known by Slurm"
            return "mounts", {"device": entity.device, "filesystem": entity.filesystem}
