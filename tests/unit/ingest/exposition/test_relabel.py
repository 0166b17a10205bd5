"""Relabelling, rule by rule.

Source of the expectations: Prometheus, docs/configuration, ``relabel_config``: patterns are anchored, a missing label
is an empty text, an empty result removes the label, ``$1`` of a group that does not exist is empty.
"""

from typing import Any

import pytest
from pydantic import ValidationError

from ingest.collectors.exposition.relabel import RelabelConfig, relabel

LABELS = {"a": "foo", "b": "bar", "c": "baz", "__meta_rack": "r7", "__meta_pod_name": "p1"}


def rules(*given: dict[str, Any]) -> list[RelabelConfig]:
    return [RelabelConfig.model_validate(rule) for rule in given]


def changed(*given: dict[str, Any]) -> dict[str, str | None] | None:
    """The labels that the rules add or change (None: remove); None when they drop the target."""
    after = relabel(LABELS, rules(*given))
    if after is None:
        return None
    return {name: after.get(name) for name in sorted({*LABELS, *after}) if after.get(name) != LABELS.get(name)}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        # the defaults copy a label
        ({"source_labels": ["a"], "target_label": "d"}, {"d": "foo"}),
        ({"source_labels": ["a", "b"], "target_label": "d"}, {"d": "foo;bar"}),
        ({"source_labels": ["a", "b"], "separator": "-", "target_label": "d"}, {"d": "foo-bar"}),
        ({"source_labels": ["a", "absent"], "target_label": "d"}, {"d": "foo;"}),
        # without source labels the pattern sees an empty text
        ({"target_label": "d", "replacement": "fixed"}, {"d": "fixed"}),
        ({"target_label": "d", "regex": "x.*", "replacement": "fixed"}, {}),
        # anchored at both ends
        ({"source_labels": ["a"], "target_label": "d", "regex": "fo"}, {}),
        ({"source_labels": ["a"], "target_label": "d", "regex": "oo"}, {}),
        ({"source_labels": ["a"], "target_label": "d", "regex": "f(o)o", "replacement": "$1$1"}, {"d": "oo"}),
        # groups by number, by name, in braces; absent ones are empty
        ({"source_labels": ["a"], "target_label": "d", "regex": "(.)(.*)", "replacement": "$2$1"}, {"d": "oof"}),
        ({"source_labels": ["a"], "target_label": "d", "regex": "(.)(.*)", "replacement": "${1}1"}, {"d": "f1"}),
        ({"source_labels": ["a"], "target_label": "d", "regex": "(?P<x>f).*", "replacement": "${x}"}, {"d": "f"}),
        ({"source_labels": ["a"], "target_label": "d", "regex": "(f).*", "replacement": "<$2>"}, {"d": "<>"}),
        ({"source_labels": ["a"], "target_label": "d", "regex": "(f).*", "replacement": "<${9}>"}, {"d": "<>"}),
        ({"source_labels": ["a"], "target_label": "d", "regex": "(x)?foo", "replacement": "<$1>"}, {"d": "<>"}),
        # $10 is one group, not the first and a nought
        ({"source_labels": ["a"], "target_label": "d", "regex": "(f).*", "replacement": "$10"}, {}),
        # an empty result removes the label
        ({"source_labels": ["a"], "target_label": "a", "replacement": ""}, {"a": None}),
        ({"source_labels": ["absent"], "target_label": "a"}, {"a": None}),
        ({"source_labels": ["a"], "target_label": "absent", "replacement": ""}, {}),
        # a label may be its own source
        ({"source_labels": ["a"], "target_label": "a", "regex": "(.*)", "replacement": "x$1"}, {"a": "xfoo"}),
        # keep and drop compare the joined labels
        ({"action": "keep", "source_labels": ["a"], "regex": "foo|x"}, {}),
        ({"action": "keep", "source_labels": ["a"], "regex": "f"}, None),
        ({"action": "keep", "source_labels": ["a", "b"], "regex": "foo;bar"}, {}),
        ({"action": "keep", "source_labels": ["absent"], "regex": ""}, {}),
        ({"action": "drop", "source_labels": ["a"], "regex": "fo+"}, None),
        ({"action": "drop", "source_labels": ["a"], "regex": "o+"}, {}),
        ({"action": "drop", "source_labels": ["absent"], "regex": ".+"}, {}),
        # labelmap renames by pattern and keeps the original
        ({"action": "labelmap", "regex": "__meta_(.+)"}, {"rack": "r7", "pod_name": "p1"}),
        (
            {"action": "labelmap", "regex": "__meta_(.+)", "replacement": "k8s_$1"},
            {"k8s_rack": "r7", "k8s_pod_name": "p1"},
        ),
        ({"action": "labelmap", "regex": "meta"}, {}),
        # a name that is none is left out, and the name may have groups too
        ({"action": "labelmap", "regex": "__meta_(.+)", "replacement": "$1.x"}, {}),
        ({"source_labels": ["a"], "target_label": "d_$1", "replacement": "x"}, {"d_foo": "x"}),
        ({"source_labels": ["a"], "target_label": "${1}_d"}, {"foo_d": "foo"}),
        ({"source_labels": ["a", "b"], "target_label": "$1"}, {}),
        ({"source_labels": ["a"], "target_label": "d", "replacement": "$$1 $$$1"}, {"d": "$1 $foo"}),
        # labels by name; names with two underscores are not spared
        ({"action": "labeldrop", "regex": "a|__meta_.+"}, {"a": None, "__meta_rack": None, "__meta_pod_name": None}),
        ({"action": "labelkeep", "regex": "a|__meta_.+"}, {"b": None, "c": None}),
        ({"action": "lowercase", "source_labels": ["a", "b"], "target_label": "d"}, {"d": "foo;bar"}),
        ({"action": "uppercase", "source_labels": ["a", "b"], "target_label": "d"}, {"d": "FOO;BAR"}),
        ({"action": "uppercase", "source_labels": ["absent"], "target_label": "a"}, {"a": None}),
        ({"action": "keepequal", "source_labels": ["a"], "target_label": "a"}, {}),
        ({"action": "keepequal", "source_labels": ["a"], "target_label": "b"}, None),
        ({"action": "keepequal", "source_labels": ["absent"], "target_label": "missing"}, {}),
        ({"action": "dropequal", "source_labels": ["a"], "target_label": "a"}, None),
        ({"action": "dropequal", "source_labels": ["a"], "target_label": "b"}, {}),
        # the expectations of Prometheus' own tests (model/relabel/relabel_test.go)
        ({"action": "hashmod", "source_labels": ["c"], "target_label": "d", "modulus": 1000}, {"d": "976"}),
        (
            {"action": "hashmod", "source_labels": ["a", "b"], "separator": "\n", "target_label": "d", "modulus": 1000},
            {"d": "734"},
        ),
    ],
)
def test_one_rule(rule: dict[str, Any], expected: dict[str, str | None] | None) -> None:
    assert changed(rule) == expected


def test_rules_see_the_labels_of_the_rules_before_them() -> None:
    first = {"source_labels": ["a"], "target_label": "d", "replacement": "$1-$1"}
    second = {"source_labels": ["d", "b"], "target_label": "e", "regex": "(.*)-(.*);(.*)", "replacement": "$3/$2"}
    assert changed(first, second) == {"d": "foo-foo", "e": "bar/foo"}
    assert changed(second, first) == {"d": "foo-foo"}


def test_a_dropped_target_ends_the_rules() -> None:
    assert changed({"action": "drop", "source_labels": ["a"], "regex": "foo"}, {"target_label": "d"}) is None


def test_patterns_cross_line_feeds() -> None:
    (rule,) = rules({"source_labels": ["a"], "target_label": "d", "regex": "x(.*)y", "replacement": "$1"})
    assert relabel({"a": "x1\n2y"}, [rule]) == {"a": "x1\n2y", "d": "1\n2"}


def test_the_given_labels_stay_as_they_are() -> None:
    labels = dict(LABELS)
    relabel(labels, rules({"source_labels": ["a"], "target_label": "a", "replacement": ""}))
    assert labels == LABELS


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"source_labels": ["a"]}, "the action replace needs one"),
        ({"target_label": "d", "regex": "("}, "expected a regular expression"),
        ({"target_label": "d", "regex": "(a+)+"}, "repetition inside a repetition"),
        ({"target_label": "d", "action": "hash"}, "Input should be 'replace', 'keep', 'drop'"),
        ({"target_label": "d", "action": "hashmod"}, "modulus: above 0 with the action hashmod"),
        ({"target_label": "d", "modulus": 3}, "modulus: above 0 with the action hashmod"),
        ({"action": "keepequal", "source_labels": ["a"]}, "the action keepequal needs one"),
        ({"target_label": "a-b"}, "label 'a-b': expected letters"),
        ({"target_label": "d", "shards": 3}, "Extra inputs"),
    ],
)
def test_rules_that_are_refused(rule: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        rules(rule)


def test_what_a_rule_would_take_too_long_to_decide_is_refused() -> None:
    long = {"a": "x" * 1000}
    assert relabel(long, rules({"source_labels": ["a"], "target_label": "b"})) == {"a": "x" * 1000, "b": "x" * 1000}
    with pytest.raises(ValueError, match="at most 255 characters to match"):
        relabel(long, rules({"source_labels": ["a"], "target_label": "b", "regex": "(.*)x"}))
