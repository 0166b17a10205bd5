"""Lists in pages, read by a client that follows the links."""

import aiohttp
import pytest
from yarl import URL

from bus.base import Message
from telemetry import topics
from telemetry.codec.records import encode_record
from telemetry.findings import FindingState
from tests.unit.fabricscope.api.traffic import eventually, finding, get, incident, publish_cluster
from tests.unit.traffic import publish_incidents


def following(answer: aiohttp.ClientResponse) -> str:
    """Path and query of the next page, '' after the last one."""
    return str(URL(str(answer.links["next"]["url"])).relative()) if "next" in answer.links else ""


async def pages(url: str, path: str) -> list[list[str]]:
    """Ids or names, page by page."""
    found = []
    async with aiohttp.ClientSession(url) as session:
        while path:
            async with session.get(path) as answer:
                assert answer.status == 200
                found.append([one.get("id") or one["name"] for one in await answer.json()])
                path = following(answer)
    return found


async def test_every_incident_is_on_one_page(api, bus):
    await publish_incidents(bus, *(incident(f"i{number}", gpu_seconds=number % 3) for number in range(7)))
    await eventually(api.url, "/api/v1/incidents", lambda body: len(body) == 7)
    _, whole = await get(api.url, "/api/v1/incidents")
    found = await pages(api.url, "/api/v1/incidents?limit=3&state=firing")
    assert [len(page) for page in found] == [3, 3, 1]
    assert [one for page in found for one in page] == [one["id"] for one in whole]


async def test_a_page_by_age_goes_on_where_it_was_although_the_worst_one_changed(api, bus):
    await publish_incidents(bus, *(incident(f"i{number}", gpu_seconds=number) for number in range(4)))
    await eventually(api.url, "/api/v1/incidents", lambda body: len(body) == 4)
    async with aiohttp.ClientSession(api.url) as session:
        async with session.get("/api/v1/incidents?order=newest&limit=2") as answer:
            first, path = await answer.json(), following(answer)
        changed = incident("i0", gpu_seconds=1e9)
        await publish_incidents(bus, changed)
        await eventually(api.url, "/api/v1/incidents", lambda body: body[0]["id"] == "i0")
        async with session.get(path) as answer:
            second = await answer.json()
    assert [one["id"] for one in first] == ["i3", "i2"]
    assert [one["id"] for one in second] == ["i1"], "i0 was opened again, and is newer than all"


async def test_members_are_listed_by_kind_and_in_pages(api, bus):
    await publish_incidents(bus, incident())
    await eventually(api.url, "/api/v1/incidents", len)
    path = "/api/v1/incidents/i1/members"
    listed = [(one["kind"], one["name"]) for one in (await get(api.url, path))[1]]
    assert listed == [
        ("link", "leaf1/Ethernet4--node1/mlx5_0"),
        ("node", "node1"),
        ("gpu", "node1/GPU-1"),
        ("gpu", "node1/GPU-2"),
        ("job", "4711"),
        ("finding", "f1"),
    ]
    assert await pages(api.url, f"{path}?limit=4") == [[name for _, name in listed[:4]], ["4711", "f1"]]
    assert [one["name"] for one in (await get(api.url, f"{path}?kind=job"))[1]] == ["4711"]
    assert (await get(api.url, "/api/v1/incidents/none/members"))[0] == 404


@pytest.mark.parametrize("cursor", ["", "x", "W10x", "e30", "WyJhIl0", "é"])
async def test_a_cursor_of_something_else_is_refused(api, bus, cursor):
    for one in (finding("f1", FindingState.ACTIVE), finding("f2", FindingState.CLEARED)):
        await bus.publish(topics.FINDINGS, [Message(one.id.encode(), encode_record(one))])
    await eventually(api.url, "/api/v1/findings", len)
    status, body = await get(api.url, "/api/v1/findings", params={"cursor": cursor})
    assert (status, body["error"]) == (422, "query.cursor: expected the one of the page before")


async def test_findings_targets_and_changes_are_chosen(api, bus):
    await publish_cluster(bus)
    for one in (finding("f1", FindingState.ACTIVE), finding("f2", FindingState.CLEARED)):
        await bus.publish(topics.FINDINGS, [Message(one.id.encode(), encode_record(one))])
    await eventually(api.url, "/api/v1/findings", lambda body: len(body) == 2)
    await eventually(api.url, "/api/v1/targets", len)
    for asked, found in (
        ("findings?object=leaf1&kind=pfc_pause_received", 2),
        ("findings?object=leaf2", 0),
        ("findings?kind=straggler", 0),
        ("targets?up=true&device=leaf1", 1),
        ("targets?up=false", 0),
        ("targets?device=leaf2", 0),
    ):
        assert len((await get(api.url, f"/api/v1/{asked}"))[1]) == found, asked
