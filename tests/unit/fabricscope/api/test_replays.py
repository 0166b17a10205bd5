"""Recordings that run again through the API: a real recording, in a real process."""

import asyncio
import json
import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from fabricscope.api.access.audit import AuditLog
from fabricscope.api.access.token_store import TokenStore
from fabricscope.api.access.tokens import Scope
from fabricscope.api.config import ApiConfig
from fabricscope.api.instants import rfc3339_ns
from fabricscope.api.service import ApiService
from tests.unit.fabricscope.api.traffic import get
from tests.waiting import DEADLINE_S

PATH = "/api/v1/replays"
RECORDING = Path(__file__).parents[3] / "recordings" / "slow-receiver-0.1.0" / "recording"


@pytest.fixture
async def api(bus: Any, tmp_path: Path, state_dir: Path) -> AsyncIterator[ApiService]:
    folder = tmp_path / "recordings"
    shutil.copytree(RECORDING, folder / "pod1")
    shutil.copytree(RECORDING, folder / "damaged")
    next((folder / "damaged").rglob("*.parquet")).write_bytes(b"PAR1")
    (folder / "elsewhere").symlink_to(RECORDING)
    (folder / "empty").mkdir()
    service = ApiService(ApiConfig(port=0, state_dir=state_dir, recordings_dir=folder), bus)
    await service.start()
    yield service
    await service.stop()


def create(state_dir: Path, scope: Scope) -> str:
    return TokenStore(state_dir).create(scope, [scope], lasts_s=3600.0, now_ns=time.time_ns())[1]


async def post(url: str, secret: str, recording: str) -> tuple[int, dict[str, Any]]:
    headers = {"Authorization": f"Bearer {secret}"}
    async with (
        aiohttp.ClientSession() as session,
        session.post(url + PATH, json={"recording": recording}, headers=headers) as answer,
    ):
        return answer.status, await answer.json()


async def ended(url: str, identity: str) -> dict[str, Any]:
    async with asyncio.timeout(DEADLINE_S):
        while True:
            status, body = await get(url, f"{PATH}/{identity}")
            assert status == 200
            if body["state"] != "running":
                return dict(body)
            await asyncio.sleep(0.1)


async def is_shown_as_of_its_time(url: str, path: str) -> None:
    """Its evidence as lines, why it is that, and the fabric before it and at its end."""
    ((incident,),) = [(await get(url, f"{path}/incidents"))[1]]
    of = f"{path}/incidents/{incident['id']}"
    plots = (await get(url, f"{of}/plots"))[1]
    assert plots[0]["series"] == incident["evidence"][0]["series"]
    known = [value for value in plots[0]["values"] if value is not None]
    assert min(known) == 0.0
    assert max(known) > 0.3
    assert rfc3339_ns(plots[0]["times"][0]) < rfc3339_ns(incident["onset"])
    explanation = (await get(url, f"{of}/explanation"))[1]
    assert (explanation["findings"], explanation["links"]["silence"]) == (incident["findings"]["count"], "")
    assert explanation["effects"]
    onset_s = rfc3339_ns(incident["onset"]) / 1e9
    times = (str(onset_s - 60), str(onset_s + 60), incident["resolved"])
    before, during, after = [(await get(url, f"{path}/fabric", params={"at": at}))[1] for at in times]
    assert len({tuple(box["id"] for box in seen["boxes"]) for seen in (before, during, after)}) == 1
    assert len(before["boxes"]) > 1
    assert (before["unhealthy_objects"], [one["is_root"] for one in after["unhealthy"]].count(True)) == (0, 0)
    assert (during["unhealthy"][0]["name"], during["unhealthy"][0]["is_root"]) == (incident["root"]["name"], True)
    for missing in (f"{path}/incidents/none/plots", f"{path}/incidents/none/explanation"):
        assert (await get(url, missing))[0] == 404
    assert (await get(url, f"{path}/fabric"))[0] == 422


async def test_a_recording_runs_again_one_at_a_time_and_its_incidents_are_listed(
    api: ApiService, state_dir: Path
) -> None:
    secret = create(state_dir, Scope.REPLAY)
    status, begun = await post(api.url, secret, "pod1")
    assert (status, begun["state"], begun["recording"]) == (202, "running", "pod1")
    assert await post(api.url, secret, "pod1") == (
        409,
        {"status": "error", "errorType": "conflict", "error": "a replay runs already"},
    )
    done = await ended(api.url, begun["id"])
    assert (done["state"], done["error"]) == ("done", "")
    assert done["incidents"] == 1
    assert [one["kind"] for one in (await get(api.url, f"{PATH}/{begun['id']}/incidents"))[1]] == ["slow_receiver"]
    assert rfc3339_ns(done["ended"]) > rfc3339_ns(done["started"])
    await is_shown_as_of_its_time(api.url, f"{PATH}/{begun['id']}")

    status, begun = await post(api.url, secret, "damaged")
    assert status == 202
    damaged = await ended(api.url, begun["id"])
    assert damaged["state"] == "failed"
    assert "parquet" in damaged["error"]
    listed = (await get(api.url, PATH))[1]
    assert [one["recording"] for one in listed] == ["damaged", "pod1"]
    assert list((state_dir / "replays").iterdir()) == [], "its files are gone"
    lines = [json.loads(line) for line in AuditLog(state_dir).file.read_text().splitlines()]
    assert [(one["who"], one["result"], one["recording"]) for one in lines] == [
        ("replay", "202", "pod1"),
        ("replay", "409", "pod1"),
        ("replay", "202", "damaged"),
    ]


@pytest.mark.parametrize(
    ("recording", "expected"),
    [
        ("absent", 404),
        ("empty", 404),
        ("elsewhere", 404),  # a link out of the folder
        ("..", 422),
        ("../pod1", 422),
        ("/etc", 422),
        ("pod1/", 422),
        ("", 422),
    ],
)
async def test_only_recordings_of_the_folder_run(
    api: ApiService, state_dir: Path, recording: str, expected: int
) -> None:
    status, _ = await post(api.url, create(state_dir, Scope.REPLAY), recording)
    assert status == expected
    assert (await get(api.url, PATH))[1] == []


@pytest.mark.parametrize("scope", [Scope.READ, Scope.ACK])
async def test_it_needs_the_scope_replay(api: ApiService, state_dir: Path, scope: Scope) -> None:
    assert (await post(api.url, create(state_dir, scope), "pod1"))[0] == 403
    assert (await get(api.url, f"{PATH}/none"))[0] == 404


async def test_a_body_with_two_recordings_is_refused(api: ApiService, state_dir: Path) -> None:
    headers = {
        "Authorization": f"Bearer {create(state_dir, Scope.REPLAY)}",
        "Content-Type": "application/json",
    }
    body = b'{"recording": "pod1", "recording": "pod1"}'
    async with (
        aiohttp.ClientSession() as session,
        session.post(api.url + PATH, data=body, headers=headers) as answer,
    ):
        assert (answer.status, (await answer.json())["error"]) == (422, "body: key 'recording' is defined twice")


async def test_without_a_folder_there_are_no_replays(bus: Any, state_dir: Path) -> None:
    service = ApiService(ApiConfig(port=0, state_dir=state_dir), bus)
    await service.start()
    try:
        assert (await post(service.url, create(state_dir, Scope.REPLAY), "pod1"))[0] == 404
        assert (await get(service.url, PATH))[0] == 404
    finally:
        await service.stop()
