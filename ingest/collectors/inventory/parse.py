"""From the inventory file's text to entities; errors name file, line and column. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

import yaml
from pydantic import ValidationError

from common.documents.yaml_nodes import check_nodes
from common.documents.yaml_positions import check_depth
from common.errors import BadInput, ConfigError
from ingest.collectors.hostlist import expand
from ingest.collectors.inventory.schema import Inventory
from telemetry.objects import NAME_CHARS_MAX
from telemetry.topology import Device, Entity, Gpu, Job, Link, Mount, StorageTarget, TopologyFact

Location = tuple[int | str, ...]


def parse_inventory(text: str, file: str) -> dict[str, Entity]:
    """All entities by key. ConfigError ``file:line:column: key: what is wrong`` for the first error."""
    try:
        check_depth(text)
        root = yaml.compose(text, yaml.CSafeLoader)
        check_nodes(root)
        data = yaml.load(text, yaml.CSafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{mark.line + 1}:{mark.column + 1}" if mark else "1:1"
        raise ConfigError(f"{file}:{where}: {error.problem}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a date such as 2026-13-01 is a ValueError
        raise ConfigError(f"{file}:1:1: {error}") from error
    try:
        inventory = Inventory.model_validate(data if data is not None else {})
    except ValidationError as error:
        first = error.errors()[0]
        place: Location = tuple(first["loc"])
        raise ConfigError(f"{_where(file, root, place)}: {_dotted(place)}: {first['msg']}") from error
    entities: dict[str, Entity] = {}
    for place, found in _entities(inventory, file, root):
        for entity in found:
            if entity.key in entities:
                raise ConfigError(f"{_where(file, root, place)}: {_dotted(place)}: {entity.key} is duplicated")
            entities[entity.key] = entity
    return entities


def facts_between(
    before: Mapping[str, Entity], after: Mapping[str, Entity], now_ns: int, source: str = "inventory"
) -> list[TopologyFact]:
    """The facts that turn one inventory into the next."""
    facts = [TopologyFact(entity, now_ns, source) for key, entity in after.items() if before.get(key) != entity]
    facts += [TopologyFact(entity, now_ns, source, gone=True) for key, entity in before.items() if key not in after]
    return facts


def _entities(inventory: Inventory, file: str, root: yaml.Node | None) -> Iterable[tuple[Location, Iterable[Entity]]]:
    def hosts(text: str, *place: int | str) -> tuple[str, ...]:
        try:
            names = expand(text)
            if any(len(name) > NAME_CHARS_MAX for name in names):
                raise BadInput(f"a name of more than {NAME_CHARS_MAX} characters")
            return names
        except BadInput as error:
            raise ConfigError(f"{_where(file, root, place)}: {_dotted(place)}: {error}") from error

    for i, device in enumerate(inventory.devices):
        names = hosts(device.name, "devices", i, "name")
        yield (
            ("devices", i, "name"),
            [Device(name, device.role, device.pod, device.rack, device.rail, device.asic) for name in names],
        )
    for i, link in enumerate(inventory.links):
        yield ("links", i), [_link(link.one, link.other, link.speed)]
    for i, gpu in enumerate(inventory.gpus):
        yield ("gpus", i, "uuid"), [Gpu(gpu.device, gpu.uuid, gpu.index, gpu.nic_port, gpu.model, gpu.serial)]
    for i, target in enumerate(inventory.storage_targets):
        yield ("storage_targets", i), [StorageTarget(target.filesystem, target.target, target.server)]
    for i, mount in enumerate(inventory.mounts):
        names = hosts(mount.device, "mounts", i, "device")
        yield ("mounts", i), [Mount(name, mount.filesystem) for name in names]
    for i, job in enumerate(inventory.jobs):
        names = hosts(job.nodes, "jobs", i, "nodes")
        yield ("jobs", i, "job_id"), [Job(job.job_id, names, job.name, job.user, job.partition, job.gpu_indices)]


def _link(one: str, other: str, speed: float) -> Link:
    (a_device, _, a_port), (b_device, _, b_port) = (end.partition("/") for end in sorted((one, other)))
    return Link(a_device, a_port, b_device, b_port, speed)


def _where(file: str, root: yaml.Node | None, place: Location) -> str:
    """``file:line:column`` of the deepest part of ``place`` in the file; of its key if it has one."""
    mark: Any = root.start_mark if root is not None else None
    node = root
    for step in place:
        if isinstance(node, yaml.MappingNode):
            pair = next((pair for pair in node.value if pair[0].value == str(step)), None)
            if pair is None:
                break
            mark, node = pair[0].start_mark, pair[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            mark = node.start_mark
    return f"{file}:{mark.line + 1}:{mark.column + 1}" if mark is not None else f"{file}:1:1"


def _dotted(place: Location) -> str:
    return ".".join(map(str, place)) or "file"
