"""What is kept from step to step, for as long as it is asked for with the same."""

from dataclasses import replace

import pytest

from analytics.correlate.finding_index import FindingIndex, Moved
from analytics.correlate.kept import Kept
from telemetry.findings import Evidence, Finding, FindingKind, FindingState
from telemetry.objects import device

VIEW, GRAPH = object(), object()
FOUND = Finding(
    *("a", FindingKind.DEVIATION, device("node1"), "test", FindingState.ACTIVE, 1, 1, 2.0, 0.9),
    evidence=(Evidence("x{}", 1.0, None, "ratio"),),
)


def made(_view: object, *words: str) -> list[str]:
    return [*words]


def test_the_same_is_made_once() -> None:
    kept = Kept()
    kept.begin(GRAPH)
    first = kept.of(made, VIEW, "one", "x")
    kept.begin(GRAPH)
    assert kept.of(made, VIEW, "one", "x") is first == ["x"]


@pytest.mark.parametrize(("name", "word", "graph"), [("two", "x", GRAPH), ("one", "y", GRAPH), ("one", "x", object())])
def test_anything_else_is_made_again(name: str, word: str, graph: object) -> None:
    kept = Kept()
    kept.begin(GRAPH)
    first = kept.of(made, VIEW, "one", "x")
    kept.begin(graph)
    again = kept.of(made, VIEW, name, word)
    assert again is not first
    assert again == [word]


def test_what_a_step_did_not_ask_for_is_forgotten() -> None:
    kept = Kept()
    kept.begin(GRAPH)
    first = kept.of(made, VIEW, "one", "x")
    kept.begin(GRAPH)
    kept.begin(GRAPH)
    assert kept.of(made, VIEW, "one", "x") is not first


@pytest.mark.parametrize(
    ("newer", "moved"),
    [
        (FOUND, Moved(frozenset(), frozenset())),
        (replace(FOUND, observed_ns=9), Moved(frozenset(), frozenset({"a"}))),
        (replace(FOUND, score=3.0), Moved(frozenset({"a"}), frozenset())),
    ],
)
def test_a_finding_that_was_only_seen_again_is_no_other_one(newer: Finding, moved: Moved) -> None:
    index = FindingIndex([FOUND])
    assert index.replace([newer]) == moved
    assert index.by_id["a"] is newer


def test_one_that_is_gone_is_another_one() -> None:
    assert FindingIndex([FOUND]).replace([]).others == {"a"}
