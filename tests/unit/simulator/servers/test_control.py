"""The control port's requests and answers, over a service that a test writes."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from common.errors import ConfigError
from simulator.faults.schedule import ScheduledFault
from simulator.servers.control import FaultRequest, control_app


class Scripted:
    """Answers with what it was asked for."""

    def __init__(self) -> None:
        self.injected: list[tuple[ScheduledFault, bool]] = []

    def truth(self) -> Mapping[str, Any]:
        return {"truth": []}

    def changes(self) -> Mapping[str, Any]:
        return {"changes": ["a"]}

    def state(self) -> Mapping[str, Any]:
        return {"devices": {"node1": True}}

    def clock(self) -> Mapping[str, Any]:
        return {"now_ns": 5}

    async def inject(self, wanted: ScheduledFault, *, from_now: bool) -> Mapping[str, Any]:
        if wanted.target == "nowhere":
            raise ConfigError("xid: no target 'nowhere'")
        self.injected.append((wanted, from_now))
        return {"fault": wanted.fault, "at_s": wanted.at_s}

    async def end_fault(self, name: str) -> Mapping[str, Any]:
        return {"ended": name}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/truth", {"truth": []}),
        ("/changes", {"changes": ["a"]}),
        ("/state", {"devices": {"node1": True}}),
        ("/clock", {"now_ns": 5}),
    ],
)
async def test_every_document_has_its_path(path: str, expected: dict[str, Any]) -> None:
    async with TestClient(TestServer(control_app(Scripted()))) as client:
        answer = await client.get(path)
        assert (answer.status, await answer.json()) == (200, expected)


@pytest.mark.parametrize(
    ("body", "fault", "from_now"),
    [
        ({"fault": "xid"}, ScheduledFault(fault="xid"), True),
        ({"fault": "xid", "at": "2m"}, ScheduledFault(fault="xid", at_s=120.0), False),
        (
            {"fault": "link-down", "at": "+250ms", "target": "leaf1/Ethernet0", "lasts": "1.5h"},
            ScheduledFault(fault="link-down", at_s=0.25, lasts_s=5400.0, target="leaf1/Ethernet0"),
            True,
        ),
        (
            {"fault": "dirty-optic", "strength": 0.3, "on": "20s", "off": "1m", "silent": True},
            ScheduledFault(fault="dirty-optic", strength=0.3, on_s=20.0, off_s=60.0, silent=True),
            True,
        ),
    ],
)
async def test_a_fault_is_injected_as_it_was_asked_for(
    body: dict[str, object], fault: ScheduledFault, from_now: bool
) -> None:
    service = Scripted()
    async with TestClient(TestServer(control_app(service))) as client:
        answer = await client.post("/faults", json=body)
        assert answer.status == 200
    assert service.injected == [(fault, from_now)]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"", "body: "),
        (b"[]", "body: "),
        (b'{"fault": ""}', "fault: "),
        (b'{"fault": "sharks"}', "fault: .*no fault 'sharks'"),
        (b'{"fault": "xid", "at": "soon"}', "at: 'soon': expected a duration such as 250ms"),
        (b'{"fault": "xid", "lasts": "-5s"}', "lasts: '-5s': expected a duration"),
        (b'{"fault": "xid", "lasts": "+5s"}', "lasts: '\\+5s': expected a length without"),
        (b'{"fault": "xid", "when": "5s"}', "when: unknown, expected one of fault, at, "),
        (b'{"fault": "incast", "strength": 9}', "body: strength 9: incast has a meaning from 0.1 to 2"),
        (b'{"fault": "incast", "strength": 0}', "strength: Input should be greater than 0"),
        (b'{"fault": "incast", "strength": "1"}', "strength: Input should be a valid number"),
        (b'{"fault": "incast", "on": "5s"}', "body: on_s 5, off_s 0: expected both, at least 0.1 s each"),
        (b'{"fault": "nccl-hang", "on": "5s", "off": "5s"}', "body: on_s 5: nccl-hang cannot begin again"),
        (b'{"fault": "incast", "silent": "yes"}', "silent: Input should be a valid boolean"),
        (b'{"fault": "xid", "target": "nowhere"}', "xid: no target 'nowhere'"),
    ],
)
async def test_a_wrong_request_is_answered_with_400_and_the_field(body: bytes, error: str) -> None:
    service = Scripted()
    async with TestClient(TestServer(control_app(service))) as client:
        answer = await client.post("/faults", data=body)
        assert answer.status == 400
        found = (await answer.json())["error"]
    assert service.injected == []
    assert re.match(error, found), found


async def test_a_fault_is_ended_by_its_name() -> None:
    async with TestClient(TestServer(control_app(Scripted()))) as client:
        answer = await client.delete("/faults/link-flap")
        assert await answer.json() == {"ended": "link-flap"}


async def test_a_huge_body_is_refused() -> None:
    async with TestClient(TestServer(control_app(Scripted()))) as client:
        answer = await client.post("/faults", data=b'"' + b"x" * 70_000 + b'"')
        assert answer.status == 413


@pytest.mark.parametrize(
    ("text", "seconds"), [("0s", 0.0), ("90s", 90.0), ("250ms", 0.25), ("1.5m", 90.0), ("2h", 7200)]
)
def test_durations(text: str, seconds: float) -> None:
    assert FaultRequest(fault="xid", lasts=text).scheduled().lasts_s == seconds
