"""Options that several commands share."""

import pytest
import typer

from fabricscope.arguments.options import chosen_labels, duration


@pytest.mark.parametrize(
    ("text", "seconds"), [("3s", 3.0), ("2m", 120.0), ("1h30m", 5400.0), ("500ms", 0.5), ("1d", 86_400.0)]
)
def test_a_duration_has_a_unit(text, seconds, capsys):
    assert duration(text) == seconds
    assert capsys.readouterr().err == ""


def test_a_duration_without_a_unit_is_seconds_with_a_hint(capsys):
    assert duration("3") == 3.0
    assert capsys.readouterr().err == "3: a duration needs its unit; write 3s\n"


def test_a_default_is_a_duration_already():
    assert duration(20.0) == 20.0


@pytest.mark.parametrize("text", ["", "0", "0s", "-3", "-3s", "3 s", "soon", "1e9", "inf", "m", "2m1h"])
def test_what_is_no_duration_is_refused_with_an_example(text):
    with pytest.raises(typer.BadParameter, match="expected a duration above zero such as 500ms, 10s or 1h30m"):
        duration(text)


@pytest.mark.parametrize(
    ("by", "one_series", "labels"),
    [
        (None, False, None),
        ([], False, None),
        (["host", "gpu"], False, ("host", "gpu")),
        (None, True, ()),
        ([], True, ()),
    ],
)
def test_labels_are_given_or_none_or_left_to_the_file(by, one_series, labels):
    assert chosen_labels(by, one_series) == labels


def test_labels_of_one_series_contradict():
    with pytest.raises(typer.BadParameter, match="--by splits"):
        chosen_labels(["host"], one_series=True)
