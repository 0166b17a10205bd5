"""Which incidents a request for them asks for."""

from dataclasses import replace

import pytest
from pydantic import ValidationError
from starlette.datastructures import MutableHeaders, QueryParams

from fabricscope.api.paging import Pager
from fabricscope.api.routes.incidents import IncidentFilter, list_incidents
from telemetry.incidents import IncidentKind, IncidentState, Severity
from telemetry.objects import gpu
from tests.unit.fabricscope.api.traffic import NS, incident

NOON_NS = 1_700_049_600 * NS  # 2023-11-15T12:00:00Z
OPEN = replace(incident("open", gpu_seconds=9.0), onset_ns=NOON_NS, opened_ns=NOON_NS + NS)
OVER = replace(
    incident("over", IncidentState.RESOLVED, gpu_seconds=5.0),
    onset_ns=NOON_NS - 3600 * NS,
    opened_ns=NOON_NS - 3590 * NS,
    resolved_ns=NOON_NS - 1800 * NS,
    severity=Severity.WARNING,
    kind=IncidentKind.GPU_FAULT,
    root=gpu("node7", "GPU-3"),
    since_first_seen=True,
)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, ["open", "over"]),
        ({"limit": 1}, ["open"]),
        ({"state": "resolved"}, ["over"]),
        ({"severity": "critical"}, ["open"]),
        ({"kind": "gpu_fault"}, ["over"]),
        ({"since_first_seen": "true"}, ["over"]),
        ({"object": "leaf1"}, ["open"]),
        ({"object": "port:leaf1/Ethernet4"}, ["open"]),
        ({"object": "node1"}, ["open", "over"]),  # both reach it
        ({"object": "GPU-3"}, ["over"]),
        ({"object": "nothing"}, []),
        ({"since": "2023-11-15T11:40:00Z"}, ["open"]),
        ({"since": "2023-11-15T11:20:00Z"}, ["open", "over"]),
        ({"since": "2023-11-15T13:40:00+02:00"}, ["open"]),
        ({"since": "1700048400"}, ["open"]),
        ({"since": "1700047200.000"}, ["open", "over"]),
        ({"until": "2023-11-15T12:00:00.000000001Z"}, ["open", "over"]),
        ({"order": "newest"}, ["open", "over"]),
        ({"until": "2023-11-15T12:00:00Z"}, ["over"]),
        ({"since": "2023-11-15T11:10:00Z", "until": "2023-11-15T11:20:00Z"}, ["over"]),
        ({"severity": "critical", "state": "resolved"}, []),
    ],
)
async def test_every_given_key_applies(model, asked, found):
    model.incidents = {one.id: one for one in (OVER, OPEN)}
    pager = Pager("/api/v1/incidents", QueryParams(), MutableHeaders())
    listed = await list_incidents(model, pager, IncidentFilter.model_validate(asked))
    assert [one.id for one in listed] == found


def test_a_time_needs_its_zone():
    with pytest.raises(ValidationError, match="RFC 3339"):
        IncidentFilter.model_validate({"since": "2023-11-15T11:40:00"})
