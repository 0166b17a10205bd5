"""Fixture: a real browser (Debian's Chromium) that speaks to nobody but the loopback."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from playwright.async_api import Browser, Page, async_playwright, expect

from tests.waiting import DEADLINE_S

_DEADLINE_MS = 1000 * DEADLINE_S
expect.set_options(timeout=_DEADLINE_MS)

_QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@asynccontextmanager
async def launched_chromium() -> AsyncIterator[Browser]:
    """RuntimeError when there is none."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        raise RuntimeError("no Chromium: apt-get install chromium")
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=path, args=list(_QUIET), timeout=_DEADLINE_MS)
        yield chromium
        await chromium.close()


async def new_page(browser: Browser, **options: Any) -> Page:
    """In a context of its own. What is waited for on it may take its time, as on a busy machine."""
    page = await browser.new_page(**options)
    page.set_default_timeout(_DEADLINE_MS)
    return page


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with launched_chromium() as chromium:
        yield chromium
