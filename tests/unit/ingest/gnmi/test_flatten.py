"""JSON containers to leaves: which path each scalar gets, and what is left out."""

from typing import Any

import pytest

from ingest.collectors.gnmi.decode.flatten import DEPTH_MAX, Flattener, Node
from ingest.collectors.gnmi.paths.elements import Elements, elements_of, parse_path
from ingest.collectors.gnmi.paths.metadata import MetadataKind, MetadataPath
from ingest.collectors.gnmi.paths.resolve import Resolved

E1, EXT_7 = "interface[name=e1]/", "neighbor[id=7][peer-type=EXT]/"
KEYS = {"interface": {"name"}, "neighbor": {"id", "peer-type"}}


def text(elements: Elements) -> str:
    return "/".join(name + "".join(f"[{key}={value}]" for key, value in keys) for name, keys in elements)


class Recorder:
    """Resolves every path but those that hold "unknown", and counts how often it is called."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, elements: Elements) -> Resolved:
        self.calls += 1
        if "unknown" in text(elements):
            return None
        return MetadataPath(MetadataKind.ALIAS, text(elements), "", elements)


def flatten(root: str, *documents: Any, nodes_max: int = 1000) -> tuple[list[tuple[str, Any]], Recorder, Flattener]:
    """Path and scalar of all leaves of the last document."""
    recorder = Recorder()
    flattener = Flattener(recorder, KEYS, nodes_max)
    node = Node(elements_of(parse_path(root)))
    found: list[tuple[str, Any]] = []

    def put(leaf: Resolved, scalar: object) -> None:
        assert isinstance(leaf, MetadataPath)
        found.append((leaf.port, scalar))

    for document in documents:
        found.clear()
        flattener.flatten(node, document, put)
    return found, recorder, flattener


@pytest.mark.parametrize(
    ("root", "document", "leaves"),
    [
        ("a", {}, []),
        ("a", {"b": 1}, [("a/b", 1)]),
        ("a", {"b": "x", "c": None, "d": True}, [("a/b", "x"), ("a/c", None), ("a/d", True)]),
        ("a", {"b": {"c": {"d": 1.5}}}, [("a/b/c/d", 1.5)]),
        ("", {"a": {"b": 1}}, [("a/b", 1)]),
        # module prefixes are dropped
        ("a", {"oc-x:b": {"oc-y:c": 1}}, [("a/b/c", 1)]),
        # lists by the keys of their entries
        ("", {"interface": [{"name": "e1", "mtu": 9}]}, [(E1 + "name", "e1"), (E1 + "mtu", 9)]),
        (
            "",
            {"neighbor": [{"id": 7, "peer-type": "EXT", "up": 1}]},
            [(EXT_7 + "id", 7), (EXT_7 + "peer-type", "EXT"), (EXT_7 + "up", 1)],
        ),
        ("", {"neighbor": [{"id": 7, "up": 1}]}, [("neighbor[id=7]/id", 7), ("neighbor[id=7]/up", 1)]),
        # a document may begin with the list or name its own root again
        ("interface", [{"name": "e1"}], [("interface[name=e1]/name", "e1")]),
        ("interface", {"oc-if:interface": [{"name": "e1"}]}, [("interface[name=e1]/name", "e1")]),
        ("a", {"oc-x:a": {"b": 1}}, [("a/b", 1)]),
        ("a", {"a": 1}, [("a/a", 1)]),
        # a list that has no keys stands where a scalar is expected; entries that are no containers
        ("", {"leaf-list": [1, 2]}, [("leaf-list", [1, 2])]),
        ("", {"interface": [1, "x", {"name": "e1"}]}, [("interface[name=e1]/name", "e1")]),
        # scalars are no documents
        ("a", 5, []),
        ("a", "text", []),
    ],
)  # fmt: skip
def test_leaves(root: str, document: Any, leaves: list[tuple[str, Any]]) -> None:
    assert flatten(root, document)[0] == leaves


def test_a_path_is_resolved_once_however_often_it_comes() -> None:
    document = {"interface": [{"name": "e1", "state": {"mtu": n}} for n in range(3)]}
    found, recorder, _ = flatten("", document, document, document)
    assert recorder.calls == 2  # the name and the mtu of one interface
    assert found[-1] == ("interface[name=e1]/state/mtu", 2)


def test_leaves_outside_the_catalogue_are_resolved_once_and_not_reported() -> None:
    found, recorder, _ = flatten("a", {"unknown": 1, "b": 2}, {"unknown": 3, "b": 4})
    assert (found, recorder.calls) == ([("a/b", 4)], 2)


def nested(depth: int) -> dict[str, Any]:
    document: dict[str, Any] = {"leaf": 1}
    for _ in range(depth):
        document = {"b": document}
    return document


@pytest.mark.parametrize(("depth", "refused"), [(DEPTH_MAX, 0), (DEPTH_MAX + 1, 1), (200, 1)])
def test_what_is_deeper_than_the_limit_is_left_out_and_counted(depth: int, refused: int) -> None:
    found, _, flattener = flatten("a", nested(depth))
    assert (len(found), flattener.refused) == (1 - refused, refused)


def test_paths_above_the_limit_are_left_out_and_counted_each_time() -> None:
    document = {"a": 1, "b": 2, "c": 3}
    found, _, flattener = flatten("r", document, document, nodes_max=2)
    assert found == [("r/a", 1), ("r/b", 2)]
    assert flattener.refused == 2


def test_a_key_that_is_a_container_is_refused() -> None:
    found, _, flattener = flatten("", {"interface": [{"name": ["x"], "mtu": 9}]})
    assert (found, flattener.refused) == ([], 1)
