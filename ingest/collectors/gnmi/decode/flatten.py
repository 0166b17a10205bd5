"""JSON containers to leaves. The shape of a container hardly changes, so it is kept as a tree."""

from collections.abc import Callable
from typing import Any

from ingest.collectors.gnmi.paths.elements import Element, Elements, without_module
from ingest.collectors.gnmi.paths.resolve import Resolved

DEPTH_MAX = 24

Put = Callable[[Resolved, object], None]
"""Called with what a leaf's path is, and with its scalar, or with the list that stands in place of one."""


class Node:
    """A container at one path: its containers, the entries of its lists, and what its leaves are."""

    __slots__ = ("entries", "leaves", "nodes", "raw")

    def __init__(self, raw: Elements) -> None:
        self.raw = raw
        self.nodes: dict[str, Node] = {}
        self.entries: dict[tuple[object, ...], Node] = {}
        self.leaves: dict[str, Resolved] = {}


class Flattener:
    """Walks containers of one target.

    resolve:    called once for each leaf.
    key_names:  the keys of each YANG list, which are inside its entries.
    nodes_max:  containers and leaves remembered; more are left out, counted in ``refused``.
    """

    def __init__(
        self, resolve: Callable[[Elements], Resolved], key_names: dict[str, set[str]], nodes_max: int = 400_000
    ) -> None:
        self._resolve = resolve
        self._key_names = {name: sorted(keys) for name, keys in key_names.items()}
        self._room = nodes_max
        self.refused = 0

    def flatten(self, root: Node, value: object, put: Put) -> None:
        """Calls ``put`` for all scalars of ``value``, a decoded JSON document at ``root``."""
        if not isinstance(value, dict):
            if isinstance(value, list):
                self._entries(root, value, put, 0)
            return
        if len(value) == 1 and root.raw:
            (key, inner), name = next(iter(value.items())), root.raw[-1][0]
            # The document may name its own root again: {"openconfig-interfaces:interface": [...]}.
            if without_module(key) == name and isinstance(inner, list):
                self._entries(root, inner, put, 0)
                return
            if without_module(key) == name and isinstance(inner, dict):
                value = inner
        self._container(root, value, put, 0)

    def _container(self, node: Node, value: dict[str, Any], put: Put, depth: int) -> None:
        leaves = node.leaves
        for key, item in value.items():
            if isinstance(item, dict) or (isinstance(item, list) and without_module(key) in self._key_names):
                child = node.nodes.get(key)
                if child is None:
                    child = self._child(node.raw, (without_module(key), ()))
                    if child is None:
                        continue
                    node.nodes[key] = child
                if depth >= DEPTH_MAX:
                    self.refused += 1
                elif isinstance(item, dict):
                    self._container(child, item, put, depth + 1)
                else:
                    self._entries(child, item, put, depth + 1)
                continue
            try:
                leaf = leaves[key]
            except KeyError:
                if not self._has_room():
                    continue
                leaf = leaves[key] = self._resolve((*node.raw, (without_module(key), ())))
            if leaf is not None:
                put(leaf, item)

    def _entries(self, node: Node, value: list[Any], put: Put, depth: int) -> None:
        """The entries of a YANG list at ``node``."""
        name = node.raw[-1][0] if node.raw else ""
        key_names = self._key_names.get(name)
        if key_names is None:
            return
        for item in value:
            if not isinstance(item, dict):
                continue
            identity = tuple([item.get(key) for key in key_names])
            try:
                child = node.entries.get(identity)
            except TypeError:  # a key that is a container
                self.refused += 1
                continue
            if child is None:
                keys = tuple((k, str(v)) for k, v in zip(key_names, identity, strict=True) if v is not None)
                child = self._child(node.raw[:-1], (name, keys))
                if child is None:
                    continue
                node.entries[identity] = child
            self._container(child, item, put, depth + 1)

    def _child(self, raw: Elements, element: Element) -> Node | None:
        return Node((*raw, element)) if self._has_room() else None

    def _has_room(self) -> bool:
        if self._room <= 0:
            self.refused += 1
            return False
        self._room -= 1
        return True
