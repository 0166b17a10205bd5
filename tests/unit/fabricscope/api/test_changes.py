"""Change events, added through the API and on the command line, as they come to the stages."""

import asyncio
import getpass
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from structlog.testing import capture_logs

from bus.base import Bus, Message, Record
from fabricscope.api.config import ApiConfig
from fabricscope.api.history import History
from fabricscope.api.read_model import CHANGES_MAX, ReadModel
from fabricscope.api.service import ApiService
from telemetry import topics
from telemetry.changes import Change, ChangeKind
from telemetry.codec.records import decode_record, encode_record
from telemetry.objects import ObjectKind, ObjectRef, device, parse_object
from telemetry.refusals import CHANGE_OBJECTS_MAX
from tests.unit.fabricscope.api.traffic import bearer, eventually, get
from tests.waiting import DEADLINE_S

NS = 1_000_000_000
START_NS = int(datetime(2026, 1, 31, 22, tzinfo=UTC).timestamp()) * NS
PATH = "/api/v1/changes"
WORK: dict[str, Any] = {
    "kind": "maintenance",
    "objects": ["rack:r2", "device:node1"],
    "starts": "2026-01-31T22:00:00Z",
    "ends": "2026-02-01T01:30:00+01:00",
    "author": "carol",
    "summary": "new PSUs",
}
EXPECTED = (ChangeKind.MAINTENANCE, (device("node1"), ObjectRef(ObjectKind.RACK, "r2")), START_NS, START_NS + 9000 * NS)


Post = Callable[..., Awaitable[tuple[int, Any]]]


@pytest.fixture
def post(state_dir: Path) -> Post:
    """Sends a change with this machine's token."""

    async def send(url: str, **arguments: Any) -> tuple[int, Any]:
        arguments["headers"] = {**bearer(state_dir), **arguments.get("headers", {})}
        async with aiohttp.ClientSession() as session, session.post(url + PATH, **arguments) as answer:
            assert not [name for name in answer.headers if name.lower().startswith("access-control-")]
            return answer.status, await answer.json()

    return send


async def on_the_bus(bus: Bus) -> list[tuple[bytes, Change]]:
    reader, found = bus.consume([topics.CHANGES], {}), []
    while not await reader.at_end():
        found += [(one.key, decode_record(one.value, Change)) for one in await reader.poll() if one.value is not None]
    await reader.stop()
    return found


async def test_a_change_that_is_added_is_on_the_bus_and_listed(api, bus, post):
    status, answer = await post(api.url, json=WORK)
    ((key, change),) = await on_the_bus(bus)  # already when it is answered
    assert status == 201
    assert (change.kind, change.objects, change.starts_ns, change.ends_ns) == EXPECTED
    assert (change.author, change.summary) == ("carol", "new PSUs")
    assert (key.decode(), answer["id"]) == (change.id, change.id)
    assert answer["objects"] == ["device:node1", "rack:r2"]
    assert (answer["starts"], answer["ends"]) == ("2026-01-31T22:00:00Z", "2026-02-01T00:30:00Z")
    assert await eventually(api.url, PATH, len) == [answer]


async def test_added_twice_it_is_one_change_and_its_end_can_be_moved(api, bus, post):
    _, once = await post(api.url, json=WORK)
    _, again = await post(api.url, json={**WORK, "objects": [*reversed(WORK["objects"]), "rack:r2"]})
    assert again == once
    _, later = await post(api.url, json={**WORK, "ends": "2026-02-01T06:00:00Z"})
    _, other = await post(api.url, json={**WORK, "objects": ["rack:r3"]})
    assert later["id"] == once["id"] != other["id"]
    listed = await eventually(api.url, PATH, lambda body: len(body) == 2)
    assert {one["id"]: one["ends"] for one in listed} == {once["id"]: later["ends"], other["id"]: other["ends"]}
    assert len(await on_the_bus(bus)) == 4


async def test_the_listed_form_can_be_sent_back(api, post):
    _, answer = await post(api.url, json={"kind": "config", "objects": ["device:leaf1"], "id": "push-7"})
    assert (answer["id"], answer["ends"]) == ("push-7", None)
    assert await post(api.url, json=answer) == (201, answer)


async def test_changes_are_listed_newest_first_and_chosen_by_kind(api, bus):
    for n in (2, 3, 1):
        kind = ChangeKind.DRAIN if n == 2 else ChangeKind.JOB_START
        change = Change(f"c{n}", kind, (device("node1"),), START_NS + n * NS)
        await bus.publish(topics.CHANGES, [Message(change.id.encode(), encode_record(change))])
    listed = await eventually(api.url, PATH, lambda body: len(body) == 3)
    assert [one["id"] for one in listed] == ["c3", "c2", "c1"]
    assert [one["id"] for one in (await get(api.url, PATH + "?kind=drain"))[1]] == ["c2"]
    assert [one["id"] for one in (await get(api.url, PATH + "?limit=1"))[1]] == ["c3"]


async def test_a_time_beyond_all_calendars_spoils_no_list(api, bus):
    change = Change("c1", ChangeKind.DRAIN, (device("node1"),), START_NS, 2**63 - 1)
    await bus.publish(topics.CHANGES, [Message(b"c1", encode_record(change))])
    (listed,) = await eventually(api.url, PATH, len)
    assert (listed["starts"], listed["ends"]) == (WORK["starts"], "2262-04-11T23:47:16.854775807Z")


async def test_it_starts_now_in_event_time(bus, replace, state_dir, post):
    simulated = await replace(ApiService(ApiConfig(port=0, state_dir=state_dir), bus, lambda: START_NS + 1_500))
    _, answer = await post(simulated.url, json={"kind": "reboot", "objects": ["device:node1"]})
    assert answer["starts"] == "2026-01-31T22:00:00.000001Z"
    status, refused = await post(simulated.url, json={**WORK, "starts": None, "ends": "2026-01-31T21:00:00Z"})
    assert (status, refused["error"].partition(" ")[0]) == (422, "body.ends:")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "party"}, "body.kind: Input should be 'config', 'reboot'"),
        ({"objects": ["node1"]}, "body.objects.0: object 'node1': expected kind:name"),
        ({"objects": []}, "body.objects: .* at least 1 item"),
        (
            {"objects": [f"device:node{n}" for n in range(CHANGE_OBJECTS_MAX + 1)]},
            f"body.objects: .* at most {CHANGE_OBJECTS_MAX}",
        ),
        ({"objects": ["device:" + "n" * 500]}, "body.objects.0: .* at most 500"),
        ({"ends": "2026-01-31T21:59:59Z"}, "body.ends: .* before the start, expected .* after 2026-01-31T22:00:00Z"),
        ({"starts": "tomorrow"}, "body.starts: expected a time as in RFC 3339"),
        ({"starts": 1_700_000_000}, "body.starts: expected a time as in RFC 3339"),
        ({"starts": "2026-01-31T22:00:00"}, "body.starts: expected a time as in RFC 3339"),
        ({"ends": "2026-03-02T22:00:01Z"}, "body.ends: .* than 30 days after the start, .* 2026-03-02T22:00:00Z"),
        ({"starts": "2190-01-01T00:00:00Z", "ends": None}, "body.starts: .* than 366 days ahead, expected at most 2"),
        ({"ends": "9999-12-31T00:00:00Z"}, "body.ends: .* less than 2200"),
        ({"summary": "x" * 501}, "body.summary: .* at most 500"),
        ({"author": "\ud800"}, "body.author: .*string"),
        ({"who": "carol"}, "body.who: Extra inputs are not permitted"),
    ],
)
async def test_what_is_wrong_is_named_and_not_published(api, bus, change, message, post):
    status, answer = await post(api.url, json={**WORK, **change})
    assert (status, answer["errorType"]) == (422, "bad_data")
    assert re.match(message, answer["error"]), answer["error"]
    assert await on_the_bus(bus) == []


async def test_a_key_that_is_there_twice_is_refused(api, bus, post):
    body = b'{"kind": "reboot", "objects": ["device:node1"], "objects": ["device:node2"]}'
    status, answer = await post(api.url, data=body, headers={"Content-Type": "application/json"})
    assert (status, answer["error"]) == (422, "body: key 'objects' is defined twice")
    assert await on_the_bus(bus) == []


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""])
async def test_what_a_page_elsewhere_may_send_unasked_is_refused(api, bus, kind, post):
    body = b'{"kind":"drain","objects":["device:node1"]}'
    without = {"skip_auto_headers": ["Content-Type"]} if not kind else {"headers": {"Content-Type": kind}}
    status, answer = await post(api.url, data=body, **without)
    assert (status, answer["status"]) == (415, "error")
    async with aiohttp.ClientSession() as session, session.options(api.url + PATH) as preflight:
        assert preflight.status == 405
    assert await on_the_bus(bus) == []


async def test_a_body_without_length_or_too_long_is_not_read(api, post):
    async def endless() -> AsyncIterator[bytes]:
        yield b'{"kind":'
        await asyncio.sleep(60)

    headers = {"Content-Type": "application/json"}
    async with asyncio.timeout(DEADLINE_S):
        assert (await post(api.url, data=endless(), headers=headers))[0] == 411
        assert (await post(api.url, data=b" " * 5_000_000, headers=headers))[0] == 413


async def test_without_a_bus_nothing_is_promised(api, bus, post):
    await bus.stop()
    status, answer = await post(api.url, json=WORK)
    assert (status, answer["errorType"]) == (503, "unavailable")
    assert answer["error"].startswith("bus: ")


async def test_the_log_says_who_what_and_until_when(api, post):
    with capture_logs() as logged:
        _, answer = await post(api.url, json=WORK)
    (line,) = [one for one in logged if one["event"] == "change added"]
    what = "maintenance of device:node1, rack:r2 from 2026-01-31T22:00:00Z to 2026-02-01T00:30:00Z"
    assert (line["change"], line["author"], line["id"]) == (what, "carol", answer["id"])


def test_the_read_model_keeps_what_is_planned_and_forgets_what_is_over():
    model = ReadModel(History(NS, 1))
    model.newest_ns = START_NS
    planned = Change("planned", ChangeKind.DRAIN, (device("node1"),), START_NS + NS)
    past = (Change(f"job{n}", ChangeKind.JOB_END, (parse_object("job:1"),), n + 1) for n in range(CHANGES_MAX))
    values = [encode_record(change) for change in (planned, *past)]
    model.apply([Record(topics.CHANGES.name, 0, n, 0, b"", value, {}) for n, value in enumerate(values)])
    assert len(model.changes) == CHANGES_MAX
    assert "planned" in model.changes
    assert "job0" not in model.changes


def add_change(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fabricscope", "change", "add", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)


@pytest.fixture
def settings(tmp_path):
    path = tmp_path / "fabricscope.yaml"
    path.write_text(f"global: {{data_dir: {tmp_path}}}\n")
    return path


async def test_the_command_adds_the_same_change_as_the_api(api, bus, settings, post):
    _, by_post = await post(api.url, json=WORK)
    given = ["maintenance", *WORK["objects"], "--starts", WORK["starts"], "--lasts", "2h30m", "--summary", "new PSUs"]
    answer = await asyncio.to_thread(add_change, *given, "--author", "carol", "--config", settings)
    assert answer.returncode == 0, answer.stderr
    period = "from 2026-01-31T22:00:00Z to 2026-02-01T00:30:00Z"
    assert answer.stdout == f"maintenance of device:node1, rack:r2 {period}\n"
    by_api, by_command = await on_the_bus(bus)
    assert by_command == by_api
    assert by_api[1].id == by_post["id"]


async def test_the_command_adds_it_from_now_by_whom_is_logged_in(bus, settings):
    before_ns = time.time_ns() // 1000 * 1000
    answer = await asyncio.to_thread(add_change, "drain", "device:node1", "--config", settings)
    assert answer.stdout.startswith("drain of device:node1 at 2")
    ((_, change),) = await on_the_bus(bus)
    assert before_ns <= change.starts_ns <= time.time_ns()
    assert (change.ends_ns, change.author) == (0, getpass.getuser())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["party", "device:node1"], "party"),
        (["drain"], "OBJECT"),
        (["drain", "node1"], "objects.0: object 'node1': expected kind:name"),
        (["drain", "device:node1", "--lasts", "long"], "'--lasts': expected a duration"),
        (["drain", "device:node1", "--lasts", "9000y"], "lasts: expected at most 30d"),
        (["drain", "device:node1", "--starts", "noon"], "starts: expected a time as in RFC 3339"),
    ],
)
def test_what_is_wrong_on_the_command_line_is_named(settings, arguments, message):
    answer = add_change(*arguments, "--config", settings)
    assert answer.returncode == 2
    assert message in " ".join(answer.stderr.replace("│", " ").split())
    assert "Traceback" not in answer.stderr


def test_the_command_makes_no_bus_that_nobody_reads(settings, tmp_path):
    answer = add_change("drain", "device:node1", "--config", settings)
    assert answer.returncode == 1
    assert answer.stderr.startswith("fabricscope: no bus at ")
    assert not (tmp_path / "bus.sqlite").exists()
