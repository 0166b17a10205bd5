"""Replays on the NOC page: choose one that is done, and move in its time. The recording is a real one."""

import asyncio
import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from playwright.async_api import expect

from fabricscope.api.access.token_store import TokenStore
from fabricscope.api.access.tokens import Scope
from fabricscope.api.config import ApiConfig
from fabricscope.api.service import ApiService
from tests.unit.fabricscope.api.noc_browser import keep_picture, open_page, poor_contrasts
from tests.unit.fabricscope.api.traffic import eventually, publish_cluster
from tests.waiting import DEADLINE_S

RECORDING = Path(__file__).parents[3] / "recordings" / "slow-receiver-0.1.0" / "recording"


@pytest.fixture
async def api(bus: Any, tmp_path: Path, state_dir: Path) -> AsyncIterator[ApiService]:
    shutil.copytree(RECORDING, tmp_path / "recordings" / "pod1")
    service = ApiService(ApiConfig(port=0, state_dir=state_dir, recordings_dir=tmp_path / "recordings"), bus)
    await service.start()
    yield service
    await service.stop()


async def replayed(url: str, state_dir: Path) -> None:
    now_ns = time.time_ns()
    _, secret = TokenStore(state_dir).create(Scope.REPLAY, [Scope.REPLAY], lasts_s=3600.0, now_ns=now_ns)
    headers = {"Authorization": f"Bearer {secret}"}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{url}/api/v1/replays", json={"recording": "pod1"}, headers=headers) as answer,
    ):
        assert answer.status == 202
    async with asyncio.timeout(DEADLINE_S):
        await eventually(url, "/api/v1/overview", lambda body: body["replays"])


async def test_a_replay_is_chosen_and_moved_in(api, bus, state_dir, browser):
    await publish_cluster(bus)
    page, problems = await open_page(browser, api.url)
    await expect(page.locator("#overview")).to_be_visible()
    await expect(page.locator("#replay")).to_be_hidden()
    await replayed(api.url, state_dir)
    await page.locator("#replay-of").select_option(index=1)
    await expect(page.locator("#verdict")).to_contain_text("Replay, not live:")
    await expect(page.locator("#incidents li")).to_have_count(1)
    await expect(page.locator("#detail-title")).to_contain_text("PFC storm")
    await expect(page.locator("#plots canvas")).not_to_have_count(0)
    await expect(page.locator("#suppressed li")).not_to_have_count(0)
    await expect(page.locator("#paging")).to_have_text("Runbook ↗")  # it paged nobody
    await expect(page.locator("#fabric-title")).to_contain_text("Fabric: as of")
    end = await page.locator("#replay-time").inner_text()
    await page.locator("#replay-at").fill("500")
    await expect(page.locator("#unhealthy li").nth(0)).to_contain_text("cause")
    await expect(page.locator("#verdict")).to_have_text("Replay, not live: 1 firing, 0 pending")
    await expect(page.locator("#overview")).to_be_hidden()  # it is of now
    assert await poor_contrasts(page) == []
    await keep_picture(page, "noc-replay")
    await page.locator("#replay-at").press("Home")
    await expect(page.locator("#replay-time")).not_to_have_text(end)
    await expect(page.locator("#verdict")).to_have_text("Replay, not live: 0 firing, 0 pending")
    await expect(page.locator("#incidents li")).to_have_count(0)
    await expect(page.locator("#unhealthy-title")).to_have_text("✓ Nothing unhealthy here")
    await page.locator("#replay-at").press("End")
    await expect(page.locator("#incidents li")).to_have_count(1)
    await page.locator("#replay-of").select_option("")
    await expect(page.locator("#verdict")).to_have_text("All quiet")
    await expect(page.locator("#replay-at")).to_be_hidden()
    await expect(page.locator("#fabric-title")).to_have_text("Fabric")
    await expect(page.locator("#overview")).to_be_visible()
    assert problems == []
