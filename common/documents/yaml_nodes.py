"""What a YAML document would become: checked before anything is built of it."""

import yaml

NODES_MAX = 1_000_000


def check_nodes(root: yaml.Node | None) -> None:
    """MarkedYAMLError at the first key that is twice in one mapping, and for aliases of which too much would come.

    An alias shares its node with the anchor, so that a few lines can stand for gigabytes, or contain themselves.
    """
    if root is not None:
        _size(root, {})


def _size(node: yaml.Node, sizes: dict[int, int | None]) -> int:
    """How many nodes this is, with those of aliases counted each time. The depth of the document is bounded."""
    known = sizes.get(id(node), 0)
    if known is None:
        raise yaml.MarkedYAMLError(None, None, "an alias of what it is part of is not accepted", node.start_mark)
    if known:
        return known
    sizes[id(node)] = None
    size = 1
    if isinstance(node, yaml.MappingNode):
        _check_keys(node)
        size += sum(_size(key, sizes) + _size(value, sizes) for key, value in node.value)
    elif isinstance(node, yaml.SequenceNode):
        size += sum(_size(item, sizes) for item in node.value)
    if size > NODES_MAX:
        raise yaml.MarkedYAMLError(None, None, f"more than {NODES_MAX} values, with aliases", node.start_mark)
    sizes[id(node)] = size
    return size


def _check_keys(node: yaml.MappingNode) -> None:
    seen = set()
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode):
            if (key.tag, key.value) in seen:
                raise yaml.MarkedYAMLError(None, None, f"{key.value[:80]} is defined twice", key.start_mark)
            seen.add((key.tag, key.value))
