"""Where the links of a page lead."""

import json
import re
from dataclasses import replace
from urllib.parse import parse_qs, quote, unquote, urlsplit

import pytest

from alerts.addresses import Addresses
from alerts.notification import Action, Notification
from alerts.receivers.alertmanager.config import AlertmanagerConfig
from alerts.rendering.labels import labels_of
from alerts.rendering.links import incident_url, links_of
from common.units import NS_PER_MS
from dashboards.boards import ALL
from telemetry import objects
from telemetry.boards import BOARD_OF
from telemetry.incidents import Incident, IncidentKind
from tests.hostile_texts import WELL_FORMED
from tests.unit.alerts.incident_factory import T0, S, incident, resolved

EVERYWHERE = Addresses("http://me/", "http://grafana/", "", "http://am/")


def note(version: Incident, cluster: str = "pod1") -> Notification:
    return Notification(version, Action.FIRE, 1, T0, labels_of(version, cluster), {})


def test_a_page_links_to_its_incident_a_board_the_runbook_and_a_silence():
    assert links_of(note(incident()), EVERYWHERE) == {
        "incident_url": "http://me/#incident=inc-1",
        "dashboard_url": "http://grafana/d/fabricscope-fabric?from=1779999100000&to=now&var-cluster=pod1",
        "runbook_url": "http://me/runbooks/slow_receiver?object=port:leaf1/Ethernet4",
        "silence_url": "http://am/#/silences/new?filter=%7Bincident_id%3D%22inc-1%22%7D",
    }


@pytest.mark.parametrize(
    ("to", "names"),
    [
        (Addresses(), set()),
        (Addresses(external_url="http://me"), {"incident_url", "runbook_url"}),
        (Addresses(grafana_url="http://g"), {"dashboard_url"}),
        (Addresses(runbook_url="http://wiki/{kind}"), {"runbook_url"}),
        (Addresses(alertmanager_url="http://am"), {"silence_url"}),
    ],
)
def test_a_link_only_where_people_reach_something(to, names):
    assert links_of(note(incident()), to).keys() == names


@pytest.mark.parametrize(
    ("external", "expected"),
    [("", ""), ("http://me", "http://me/#incident=a%2Fb"), ("http://me/", "http://me/#incident=a%2Fb")],
)
def test_the_incident_is_shown_by_the_noc_page(external, expected):
    assert incident_url(incident(id="a/b"), external) == expected


@pytest.mark.parametrize(
    ("kind", "board"),
    [
        (IncidentKind.LINK_DOWN, "fabricscope-fabric"),
        (IncidentKind.GPU_FAULT, "fabricscope-gpu"),
        (IncidentKind.RACK_POWER, "fabricscope-power"),
        (IncidentKind.UNEXPLAINED, "fabricscope-incidents"),
    ],
)
def test_the_board_is_that_of_the_domain(kind, board):
    url = urlsplit(links_of(note(incident(kind=kind)), EVERYWHERE)["dashboard_url"])
    assert url.path == f"/d/{board}"


def test_every_board_that_is_linked_to_exists_and_takes_the_cluster():
    boards = {board.uid: board for board in ALL}
    for uid in BOARD_OF.values():
        assert "cluster" in {variable.name for variable in boards[uid].variables}


def test_the_range_of_an_incident_that_is_over_has_a_margin_on_both_sides():
    query = parse_qs(urlsplit(links_of(note(resolved(60)), EVERYWHERE)["dashboard_url"]).query)
    assert int(query["from"][0]) == (T0 - 900 * S) // NS_PER_MS
    assert int(query["to"][0]) == (T0 + 960 * S) // NS_PER_MS


def test_own_runbooks_are_addressed_by_kind_and_object():
    to = Addresses(external_url="http://me", runbook_url="https://wiki/{kind}.md#{root}")
    root = objects.gpu("node1", "GPU 1?&")
    assert (
        links_of(note(incident(root=root)), to)["runbook_url"]
        == "https://wiki/slow_receiver.md#gpu:node1/GPU%201%3F%26"
    )


def test_a_name_that_is_too_long_for_a_link_leaves_that_link_out():
    root = objects.port("leaf1", "\U0001f525" * 200)
    found = links_of(note(incident(root=root)), EVERYWHERE)
    assert found.keys() == {"incident_url", "dashboard_url", "silence_url"}


def test_a_name_cannot_leave_its_place_in_a_link():
    root = objects.port("leaf1", "x&object=job:1#<b>")
    version = incident(id='a"}&filter=b', root=root)
    found = links_of(note(version, cluster="a&to=0"), EVERYWHERE)
    assert parse_qs(urlsplit(found["runbook_url"]).query) == {"object": ["port:leaf1/x&object=job:1#‹b›"]}
    assert parse_qs(urlsplit(found["dashboard_url"]).query)["to"] == ["now"]
    assert unquote(found["silence_url"].partition("?filter=")[2]) == r'{incident_id="a\"}&filter=b"}'
    assert found["incident_url"] == f"http://me/#incident={quote(version.id, safe='')}"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"url": "http://am:9093"}, "http://am:9093"),
        ({"url": "http://am:9093", "external_url": "https://am.example"}, "https://am.example"),
        ({"url": "http://carol:s3cret@am:9093"}, ""),
        ({"url": "http://am:9093?token=s3cret"}, ""),
        ({"url_file": "/run/secrets/am"}, ""),
        ({"url_file": "/run/secrets/am", "external_url": "https://am.example"}, "https://am.example"),
    ],
)
def test_no_secret_of_an_alertmanagers_address_is_in_a_link(settings, expected):
    assert AlertmanagerConfig(**settings).reached_at == expected


def test_links_are_the_same_in_every_repetition():
    first = note(incident())
    assert links_of(first, EVERYWHERE) == links_of(replace(first, sequence=2, at_ns=T0 + S), EVERYWHERE)


PATTERNS = ("", "https://wiki/{kind}/{root}", "https://wiki/find?kind={kind}&object={root}", "https://wiki/a/b#{root}")


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_hostile_name_stays_in_its_place_of_every_link(pattern):
    to = Addresses("http://me/", "http://grafana/", pattern, "http://am/")
    plain = links_of(note(incident(root=objects.port("leaf1", "x"))), to)
    for text in (*WELL_FORMED, "a/../../admin", "..", "./x", "a\\..\\b", "a//b"):
        version = incident(id=text[:60], root=objects.port("leaf1", text[:100]))
        found = links_of(note(version, cluster=text[:60]), to)
        assert set(found) >= {"incident_url", "dashboard_url"}
        for name, url in found.items():
            assert re.fullmatch(r"[!-~]+", url)
            assert not set("<>\"'`\\{}|^ ") & set(url)
            (one, other) = (urlsplit(each) for each in (url, plain[name]))
            assert one[:2] == other[:2]
            assert parse_qs(one.query).keys() == parse_qs(other.query).keys()
            assert "/../" not in f"{one.path}/"
            assert "/./" not in f"{one.path}/"
        if "silence_url" in found:
            matcher = unquote(found["silence_url"].partition("?filter=")[2])
            assert json.loads(matcher.removeprefix("{incident_id=").removesuffix("}")) == version.id
