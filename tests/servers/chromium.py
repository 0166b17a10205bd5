"""Fixture: a real browser (Debian's Chromium) that speaks to nobody but the loopback."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Browser, async_playwright

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
        chromium = await playwright.chromium.launch(executable_path=path, args=list(_QUIET))
        yield chromium
        await chromium.close()


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with launched_chromium() as chromium:
        yield chromium
