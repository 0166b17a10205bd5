"""The inventory: what can be read becomes facts that those who consume them can read."""

from common.errors import ConfigError
from ingest.collectors.inventory.parse import facts_between, parse_inventory
from telemetry.codec.records import decode_record, encode_record
from telemetry.topology import TopologyFact

SEEDS = (
    b"devices:\n  - {name: 'leaf[1-2]', role: leaf, pod: pod1, rack: 12}\nlinks:\n"
    b"  - {from: leaf1/Ethernet0, to: leaf2/Ethernet0, speed: 400G}\n"
    b"gpus:\n  - {device: node1, uuid: GPU-1, index: 0, nic_port: mlx5_0}\n",
    b"storage_targets: [{filesystem: scratch, target: OST0, server: oss1}]\n"
    b"mounts: [{device: 'n[1-2]', filesystem: f}]\n"
    b"jobs: [{job_id: 7, nodes: 'n[1-2]', gpu_indices: [0, 1]}]\n",
    b"a: &a {name: leaf1, role: leaf}\ndevices: [*a]\n",
)


def target(data: bytes) -> None:
    try:
        entities = parse_inventory(data.decode("utf-8", "replace"), "inventory.yaml")
    except ConfigError:
        return
    for fact in facts_between({}, entities, 1):
        assert decode_record(encode_record(fact), TopologyFact) == fact
