"""Families are declared as data, and those of the report are left out of training."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from common.errors import ConfigError
from evaluation.families.describe import PAGE, described
from evaluation.families.family import Family, FaultChoice, read_families

SETS = read_families()
AXES = ("collection", "condition", "fault", "shape", "work")


def test_no_report_family_has_the_combination_of_a_training_family() -> None:
    train = {family.combination for family in SETS.train}
    assert [family.name for family in SETS.report if family.combination in train] == []
    assert len({family.combination for family in (*SETS.train, *SETS.report)}) == len(SETS.train) + len(SETS.report)


@pytest.mark.parametrize("axis", AXES)
def test_values_of_every_axis_occur_only_in_report_families(axis: str) -> None:
    withheld = SETS.withheld[axis]
    assert len(withheld) >= 2
    train = {value for family in SETS.train for value in family.values}
    assert not {(axis, name) for name in withheld} & train


def test_a_withheld_value_is_no_longer_withheld_once_a_training_family_has_it() -> None:
    name = SETS.withheld["work"][0]
    known = SETS.train[0].model_copy(update={"work": (name,)})
    assert name not in SETS.model_copy(update={"train": (known, *SETS.train[1:])}).withheld["work"]


def test_name_description_and_size_do_not_make_another_family() -> None:
    one = Family(name="a", stands_for="x", work=("tree", "small"))
    other = Family(name="b", stands_for="y", work=("small", "tree"), hosts=16)
    assert one.combination == other.combination
    for changes in ({"collection": "lossy"}, {"boot_s": (300.0, 720.0)}):
        assert one.combination != other.model_copy(update=changes).combination


def test_both_lists_have_healthy_families_and_single_pair_and_triple_faults() -> None:
    for families in (SETS.train, SETS.report):
        assert any(family.faults is None for family in families)
    together = {family.faults.together for family in (*SETS.train, *SETS.report) if family.faults}
    assert together == {1, 2, 3}


def test_weak_faults_of_seconds_and_hosts_that_boot_for_minutes_are_declared() -> None:
    families = (*SETS.train, *SETS.report)
    faults = [family.faults for family in families if family.faults]
    assert any(choice.lasts_s[0] <= 5.0 and choice.strength == (0.1, 0.5) for choice in faults)
    assert (300.0, 720.0) in {family.boot_s for family in families}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kinds": ()}, "at least 1 item"),
        ({"kinds": ("xid",), "strength": (1.0, 0.5)}, "expected the smaller one first"),
        ({"kinds": ("xid",), "on_s": (1.0, 2.0)}, "expected both above 0, or neither"),
        ({"kinds": ("xid",), "together": 4}, "less than or equal to 3"),
    ],
)
def test_a_choice_of_faults_without_meaning_is_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        FaultChoice.model_validate(fields)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("train: []\nreport: [{name: a, stands_for: b, colour: red}]", r"report\.0\.colour: Extra inputs"),
        ("train: [{name: a, stands_for: b}]\nreport: [{name: a, stands_for: b}]", "two families are called a"),
        ("train: [", "declared.yaml: while parsing a flow node"),
    ],
)
def test_a_wrong_file_is_an_error_that_says_where(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "declared.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_families(path)


def test_the_documentation_lists_the_families_as_declared() -> None:
    text = PAGE.read_text()
    assert described(text, SETS) == text, "python -m evaluation.families.describe writes it"
