"""Objects of the cluster as kind and name."""

import pytest

from common.errors import BadInput
from telemetry import objects
from telemetry.objects import ObjectKind, ObjectRef, parse_object

PORT = objects.port("leaf1", "Ethernet4")


@pytest.mark.parametrize(
    ("ref", "text", "device"),
    [
        (objects.device("leaf1"), "device:leaf1", "leaf1"),
        (PORT, "port:leaf1/Ethernet4", "leaf1"),
        (objects.port("leaf1", "Ethernet1/1"), "port:leaf1/Ethernet1/1", "leaf1"),
        (objects.gpu("node3", "GPU-5f3c"), "gpu:node3/GPU-5f3c", "node3"),
        (objects.job("4711"), "job:4711", ""),
        (objects.storage_target("scratch", "OST0003"), "storage_target:scratch/OST0003", ""),
        (ObjectRef(ObjectKind.RACK, "r12"), "rack:r12", ""),
        (ObjectRef(ObjectKind.TARGET, "dcgm/127.0.0.1:9400"), "target:dcgm/127.0.0.1:9400", ""),
        (
            objects.link(PORT, objects.port("spine1", "Ethernet8")),
            "link:leaf1/Ethernet4--spine1/Ethernet8",
            "",
        ),
    ],
)
def test_objects_as_text_and_back(ref: ObjectRef, text: str, device: str) -> None:
    assert str(ref) == text
    assert parse_object(text) == ref
    assert ref.device == device


@pytest.mark.parametrize("text", ["", "leaf1", "device:", "switch:leaf1", "Device:leaf1", ":leaf1"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(BadInput, match="expected kind:name with a kind of device, port, link"):
        parse_object(text)


def test_a_link_is_the_same_from_either_end() -> None:
    one, other = objects.port("b", "1"), objects.port("a", "2")
    assert objects.link(one, other) == objects.link(other, one) == ObjectRef(ObjectKind.LINK, "a/2--b/1")


def test_objects_sort_by_kind_and_name() -> None:
    given = [
        objects.port("a", "2"),
        objects.device("b"),
        objects.gpu("a", "x"),
        objects.device("a"),
        objects.port("a", "1"),
    ]
    assert [str(ref) for ref in sorted(given)] == ["device:a", "device:b", "gpu:a/x", "port:a/1", "port:a/2"]
