"""Objects that Python has read once become names that the scan follows."""

from collections.abc import Mapping, Sequence

from ingest.collectors.cisco_mdt.decode.learnt import Learnt, Shape
from ingest.collectors.cisco_mdt.decode.object_scan import ATTRIBUTES, CLASSES
from ingest.collectors.cisco_mdt.decode.objects import Managed
from ingest.collectors.gnmi.paths.resolve import Resolved
from ingest.collectors.gnmi.paths.series_rows import Leaf


def learn_objects(
    learnt: Learnt, path: int, objects: Sequence[Managed], resolved: Sequence[Mapping[str, Resolved]]
) -> None:
    """Those of a row. path: the slot of its encoding path. resolved: of each object, what its attributes are."""
    slots: list[int] = []
    for one, attributes in zip(objects, resolved, strict=True):
        if not learnt.has_room:
            return
        name = one.name.encode()
        kind = learnt.put(name, CLASSES)
        if one.stated:
            slot = learnt.put(one.stated.encode(), kind + 1)
        else:
            above = slots[one.parent] if one.parent >= 0 else path
            slot = learnt.put(one.rn.encode(), learnt.put(name, CLASSES + 1 + above) + 1)
        slots.append(slot)
        for attribute, what in attributes.items():
            _learn_attribute(learnt, kind, slot, attribute.encode(), what)
    learnt.shapes[path] = Shape.OBJECTS


def _learn_attribute(learnt: Learnt, kind: int, slot: int, name: bytes, resolved: Resolved) -> None:
    """Most attributes are read of no object: these have one slot for their whole class."""
    of_class = learnt.put(name, ATTRIBUTES + kind)
    if resolved is not None:
        learnt.shapes[of_class] = Shape.READ
    elif learnt.shapes[of_class] != Shape.READ:
        learnt.shapes[of_class] = Shape.LEFT_OUT
        return
    leaf = learnt.put(name, slot + 1)
    learnt.bind(leaf, resolved)
    if isinstance(resolved, Leaf) and not resolved.states:
        learnt.shapes[leaf] = Shape.NUMBER
