"""Which receivers an alert has: matchers, routes, silences and their boundaries."""

import pytest
from pydantic import ValidationError

from alerts.matcher import Matcher, all_match
from alerts.route import Route, receivers_for
from alerts.silence import Silence, in_force, silenced_by
from common.patterns import PATTERN_CHARS_MAX, VALUE_CHARS_MAX

LABELS = {"severity": "critical", "object": "port:leaf1/Ethernet4", "cluster": "pod1"}


def matcher(name: str, value: str, op: str = "=") -> Matcher:
    return Matcher.model_validate({"name": name, "op": op, "value": value})


CRITICAL, LEAF, POD2 = (
    matcher("severity", "critical"),
    matcher("object", "port:leaf.*", "=~"),
    matcher("cluster", "pod2"),
)


@pytest.mark.parametrize(
    ("matchers", "fits"),
    [
        ([], True),
        ([CRITICAL], True),
        ([CRITICAL, LEAF], True),
        ([CRITICAL, POD2], False),
        ([matcher("absent", "")], True),  # an absent label is empty
        ([matcher("absent", "x", "!=")], True),
        ([matcher("absent", ".+", "=~")], False),
        ([matcher("severity", "crit", "=~")], False),  # whole values
        ([matcher("severity", "critical|warning", "=~")], True),
        ([matcher("severity", "critical|warning", "!~")], False),
    ],
)
def test_all_matchers_must_fit(matchers, fits):
    assert all_match(matchers, LABELS) is fits


def test_of_a_long_value_the_beginning_is_matched():
    assert matcher("a", "x+", "=~").matches({"a": "x" * VALUE_CHARS_MAX + "y"})


def test_a_dot_stands_for_a_line_break_too():
    assert matcher("a", "one.two", "=~").matches({"a": "one\ntwo"})


@pytest.mark.parametrize(
    "settings",
    [
        {"name": "a-b", "value": "x"},
        {"name": "", "value": "x"},
        {"name": "a", "value": "x", "op": "=="},
        {"name": "a", "value": "x" * (PATTERN_CHARS_MAX + 1)},
        {"name": "a", "value": "a*b*c*d*", "op": "=~"},
        {"name": "a", "value": "x", "is_regex": True},
    ],
)
def test_matchers_that_cannot_work_are_refused(settings):
    with pytest.raises(ValidationError):
        Matcher.model_validate(settings)


def route(*receivers: str, when: tuple[Matcher, ...] = ()) -> Route:
    return Route(matchers=when, receivers=receivers)


@pytest.mark.parametrize(
    ("routes", "expected"),
    [
        ([], ("mail", "pager")),
        ([route("chat", when=(POD2,))], ("mail", "pager")),  # nothing fits
        ([route("chat", when=(CRITICAL,)), route("mail")], ("chat",)),  # the first that fits
        ([route("chat", when=(POD2,)), route("mail")], ("mail",)),
        ([route("b", "a", "b", when=(LEAF,))], ("a", "b")),
        ([route(when=(LEAF,)), route("mail")], ()),  # nobody, on purpose
    ],
)
def test_the_first_route_that_fits_decides_and_what_fits_none_goes_to_all(routes, expected):
    assert receivers_for(routes, ("pager", "mail"), LABELS) == expected


def silence(name: str, start: int, end: int, *matchers: Matcher) -> Silence:
    return Silence(id=name, matchers=matchers or (CRITICAL,), starts_ns=start, ends_ns=end, created_by="ann")


@pytest.mark.parametrize(
    ("now_ns", "expected"), [(9, None), (10, "early"), (19, "early"), (20, "late"), (29, "late"), (30, None)]
)
def test_a_silence_holds_from_its_start_until_before_its_end(now_ns, expected):
    silences = [silence("other", 0, 100, POD2), silence("early", 10, 20), silence("late", 20, 30)]
    found = silenced_by(in_force(silences, now_ns), LABELS)
    assert (found.id if found else None) == expected


def test_a_silence_covers_what_fits_all_its_matchers():
    assert silenced_by([silence("both", 0, 9, CRITICAL, POD2)], LABELS) is None
    assert silenced_by([silence("both", 0, 9, CRITICAL, LEAF)], LABELS) is not None
