"""What lldpd and Slurm say, up to the inventory that ``fabricscope init`` writes: that one can always be read."""

import yaml

from common.errors import BadInput
from fabricscope.first_settings.cluster import Cluster
from fabricscope.first_settings.documents import inventory_text
from fabricscope.first_settings.lldp import parse_neighbours
from fabricscope.first_settings.slurm import parse_node_names
from ingest.collectors.inventory.parse import parse_inventory

SEEDS = (
    b'{"lldp":{"interface":{"eth0":{"chassis":{"leaf1":{"id":{"type":"mac"},"mgmt-ip":"10.0.0.1","capability":'
    b'[{"type":"Router","enabled":true}]}},"port":{"id":{"type":"ifname","value":"Ethernet1/2"}}}}}}',
    b'{"lldp":{"interface":[{"a":{"chassis":{"b":{"id":{}}},"port":{"id":{"value":"c"}}}}]}}',
    b'{"sinfo":[{"nodes":{"nodes":["node1","node[2-3]"]}}]}',
    b'{"nodes":[{"name":"node1"},{"name":"x/y"}]}',
)


def target(data: bytes) -> None:
    cluster = Cluster()
    try:
        cluster.add_neighbours(parse_neighbours(data, "node1", "x")[0])
    except BadInput:
        try:
            cluster.add_hosts(parse_node_names(data, "x"))
        except BadInput:
            return
    text = inventory_text(cluster)
    devices = {entry["name"] for entry in yaml.safe_load(text)["devices"]}
    assert devices == cluster.roles().keys()
    parse_inventory(text, "inventory.yaml")
