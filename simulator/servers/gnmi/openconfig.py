"""An OpenConfig switch: leaves grouped into one message for every interface, as EOS sends them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from simulator.layout import Layout
from simulator.servers.collection.omitted import Omits, omits_nothing
from simulator.servers.gnmi.openconfig_schema import LEAVES, Container, Form, Leaf
from simulator.servers.gnmi.paths import Elem, elems_of, json_value, match, path_text, to_proto, without_modules
from simulator.servers.gnmi.query import Absent, Query
from simulator.servers.snapshot import Snapshot
from telemetry.gnmi import gnmi_pb2

_MODELS = (
    ("openconfig-interfaces", "3.7.2"),
    ("openconfig-qos", "0.11.2"),
    ("openconfig-lldp", "0.2.1"),
    ("openconfig-platform-transceiver", "0.15.0"),
    ("openconfig-network-instance", "4.4.1"),
    ("arista-intf-augments", ""),
)

_MODULES = {
    "interfaces": "openconfig-interfaces:interfaces",
    "qos": "openconfig-qos:qos",
    "lldp": "openconfig-lldp:lldp",
    "components": "openconfig-platform:components",
    "network-instances": "openconfig-network-instance:network-instances",
}
"""RFC 7951: the top of a JSON tree names its module. Below it "interfaces" occurs again, inside qos and lldp."""


class OpenConfigTree:
    """The OpenConfig tree of one switch. omits: paths of leaves that it does not have."""

    encodings: Sequence[int] = (gnmi_pb2.JSON, gnmi_pb2.JSON_IETF, gnmi_pb2.PROTO)
    models: Sequence[gnmi_pb2.ModelData] = tuple(
        gnmi_pb2.ModelData(name=name, organization="OpenConfig working group", version=version)
        for name, version in _MODELS
    )

    def __init__(self, layout: Layout, switch: str, omits: Omits = omits_nothing) -> None:
        self._layout = layout
        self._leaves = [leaf for leaf in LEAVES if not omits(path_text(leaf.container.prefix + leaf.path))]
        ports = layout.switch_ports[switch]
        self._all = np.arange(ports.start, ports.stop)
        self._uplinks = np.array([i for i in ports if layout.ports[i].peer_port >= 0], dtype=np.int64)

    def query(self, prefix: gnmi_pb2.Path, path: gnmi_pb2.Path, encoding: int) -> Query:
        rows = self._selected(prefix, path)
        return LeafQuery(self._layout, rows, encoding, prefix.target) if rows else Absent()

    def get(
        self, prefix: gnmi_pb2.Path, path: gnmi_pb2.Path, encoding: int, snapshot: Snapshot, now_ns: int
    ) -> gnmi_pb2.Notification | None:
        """With PROTO one update a leaf; with JSON one tree from the root, list entries with their keys."""
        rows = self._selected(prefix, path)
        if not rows:
            return None
        query = LeafQuery(self._layout, rows, gnmi_pb2.PROTO, prefix.target)
        notification = gnmi_pb2.Notification(timestamp=now_ns, prefix=gnmi_pb2.Path(target=prefix.target))
        tree: dict[str, Any] = {}
        for message in query.messages(snapshot, now_ns):
            for update in message.update.update:
                elems = elems_of(message.update.prefix, update.path)
                if encoding == gnmi_pb2.PROTO:
                    notification.update.add(path=to_proto(elems), val=update.val)
                else:
                    _graft(tree, elems, _json_value(update.val, encoding))
        if encoding != gnmi_pb2.PROTO:
            notification.update.add(val=json_value(orjson.dumps(tree), encoding))
        return notification

    def _selected(self, prefix: gnmi_pb2.Path, path: gnmi_pb2.Path) -> list[tuple[Leaf, NDArray[np.int64]]]:
        """Leaves that the path selects, each with the ports that it selects."""
        pattern = without_modules(elems_of(prefix, path))
        selected = []
        for leaf in self._leaves:
            matched, key = match(pattern, leaf.container.prefix + leaf.path)
            ports = self._uplinks if leaf.container.between_switches else self._all
            if matched and key is not None:
                ports = np.array([i for i in ports if leaf.container.key(self._layout, i) == key], dtype=np.int64)
            if matched and ports.size:
                selected.append((leaf, ports))
        return selected


@dataclass(slots=True)
class _Message:
    """One entry's message, kept and refilled; port is its position in the layout."""

    port: int
    response: gnmi_pb2.SubscribeResponse
    delete: gnmi_pb2.Path
    changed: list[gnmi_pb2.Update] = field(default_factory=list)
    sent: bool = False


@dataclass(slots=True)
class _Group:
    """The messages of one container, and its leaves with the updates that they fill, in the messages' order."""

    container: Container
    ports: NDArray[np.int64]
    messages: list[_Message]
    leaves: list[tuple[Leaf, list[gnmi_pb2.Update]]]
    last: list[list[Any]]


class LeafQuery:
    """Values of leaves of many ports: paths are encoded once, a snapshot only replaces the values."""

    def __init__(
        self, layout: Layout, rows: Sequence[tuple[Leaf, NDArray[np.int64]]], encoding: int, target: str
    ) -> None:
        self.counts = any(leaf.form is Form.COUNTER for leaf, _ in rows)
        self._encoding = encoding
        by_container: dict[Container, list[tuple[Leaf, NDArray[np.int64]]]] = {}
        for leaf, ports in rows:
            by_container.setdefault(leaf.container, []).append((leaf, ports))
        self._groups = [self._group(layout, container, rows, target) for container, rows in by_container.items()]

    def full(self, snapshot: Snapshot, now_ns: int) -> Iterator[bytes]:
        for message in self.messages(snapshot, now_ns):
            yield message.SerializeToString()

    def messages(self, snapshot: Snapshot, now_ns: int) -> Iterator[gnmi_pb2.SubscribeResponse]:
        """One message for every entry that exists now."""
        for group in self._groups:
            self._refill(group, snapshot)
            for message, known in zip(group.messages, _known(group, snapshot), strict=True):
                message.sent = known
                if known:
                    message.response.update.timestamp = now_ns
                    yield message.response

    def changes(self, snapshot: Snapshot, now_ns: int) -> Iterator[bytes]:
        for group in self._groups:
            self._refill(group, snapshot)
            for message, known in zip(group.messages, _known(group, snapshot), strict=True):
                update = message.response.update
                if known and (message.changed or not message.sent):
                    updates = message.changed if message.sent else list(update.update)
                    changed = gnmi_pb2.Notification(timestamp=now_ns, prefix=update.prefix, update=updates)
                    yield gnmi_pb2.SubscribeResponse(update=changed).SerializeToString()
                elif message.sent and not known:
                    gone = gnmi_pb2.Notification(timestamp=now_ns, delete=[message.delete])
                    gone.prefix.target = update.prefix.target
                    yield gnmi_pb2.SubscribeResponse(update=gone).SerializeToString()
                message.sent = known

    def _group(
        self, layout: Layout, container: Container, rows: list[tuple[Leaf, NDArray[np.int64]]], target: str
    ) -> _Group:
        ports = rows[0][1]  # all leaves of a container have the same key, so a path selects the same ports of each
        messages = [_message(layout, container, port, target) for port in ports.tolist()]
        leaves = []
        for leaf, _ in rows:
            path = to_proto(leaf.path)
            leaves.append((leaf, [message.response.update.update.add(path=path) for message in messages]))
        for leaf, updates in leaves:
            if leaf.text is not None:
                for port, update in zip(ports.tolist(), updates, strict=True):
                    self._set(update.val, leaf.form, leaf.text(layout, port))
        return _Group(container, ports, messages, leaves, [[] for _ in leaves])

    def _refill(self, group: _Group, snapshot: Snapshot) -> None:
        """Writes the snapshot's values into the messages; each message lists what changed since the last time."""
        for message in group.messages:
            message.changed.clear()
        for i, (leaf, updates) in enumerate(group.leaves):
            if leaf.text is not None:
                continue
            values = _values(leaf, leaf.of(snapshot.readings.ports)[group.ports])
            last = group.last[i]
            if values == last:
                continue
            for j, value in enumerate(values):
                if not last or value != last[j]:
                    self._set(updates[j].val, leaf.form, value)
                    group.messages[j].changed.append(updates[j])
            group.last[i] = values

    def _set(self, typed: gnmi_pb2.TypedValue, form: Form, value: Any) -> None:
        if self._encoding != gnmi_pb2.PROTO:
            # RFC 7951: 64-bit numbers are strings in JSON_IETF
            content = str(value) if self._encoding == gnmi_pb2.JSON_IETF and form is not Form.DOUBLE else value
            typed.CopyFrom(json_value(orjson.dumps(content), self._encoding))
        elif form is Form.DOUBLE:
            typed.double_val = value
        elif form is Form.STRING:
            typed.string_val = value
        else:
            typed.uint_val = value


def _message(layout: Layout, container: Container, port: int, target: str) -> _Message:
    key = container.key(layout, port)
    elems = [elem.with_port(key) for elem in container.prefix]
    response = gnmi_pb2.SubscribeResponse()
    response.update.prefix.CopyFrom(to_proto(elems, target))
    return _Message(port, response, to_proto(elems))


def _known(group: _Group, snapshot: Snapshot) -> list[bool]:
    if group.container.known is None:
        return [True] * len(group.messages)
    found: list[bool] = group.container.known(snapshot.readings, group.ports).tolist()
    return found


def _values(leaf: Leaf, values: NDArray[np.generic]) -> list[Any]:
    if leaf.form is Form.DOUBLE:
        doubles: list[Any] = values.tolist()
        return doubles
    whole: list[int] = values.astype(np.int64).tolist()
    return [leaf.enum[i] for i in whole] if leaf.form is Form.STRING else whole


def _json_value(typed: gnmi_pb2.TypedValue, encoding: int) -> str | float:
    if typed.WhichOneof("value") == "uint_val":
        return typed.uint_val if encoding == gnmi_pb2.JSON else str(typed.uint_val)
    return typed.double_val if typed.WhichOneof("value") == "double_val" else typed.string_val


def _graft(tree: dict[str, Any], elems: Sequence[Elem], value: str | float) -> None:
    """Adds a leaf to a JSON tree; elements with keys are entries of lists."""
    tree = tree.setdefault(_MODULES[elems[0].name], {})
    for elem in elems[1:-1]:
        if not elem.keys:
            tree = tree.setdefault(elem.name, {})
            continue
        keys = dict(elem.keys)
        entries: list[dict[str, Any]] = tree.setdefault(elem.name, [])
        entry = next((one for one in reversed(entries) if keys.items() <= one.items()), None)
        if entry is None:
            entry = dict(keys)
            entries.append(entry)
        tree = entry
    tree[elems[-1].name] = value
