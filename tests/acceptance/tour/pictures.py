"""Pictures of the NOC page in a real browser, while the faults last."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from PIL import Image
from playwright.async_api import FloatRect, Page, ViewportSize

from tests.servers.chromium import launched_chromium, new_page

WALL: ViewportSize = {"width": 1920, "height": 1080}
PHONE: ViewportSize = {"width": 390, "height": 844}
OVERVIEW, ON_A_PHONE = "overview.png", "phone.png"
MARGIN = 12  # pixels: less than the page itself has
SHOWN_MS_MAX = 60_000.0  # on a busy machine
COLOURS = 128  # of the page it has a dozen; the others are edges of letters, and two thirds of the bytes


def incident_picture(number: int) -> str:
    """File name of the page of the incident; numbers from 1 on, in the order of the plan."""
    return f"incident-{number}.png"


def evidence_picture(number: int) -> str:
    return f"evidence-{number}.png"


def take_pictures(url: str, incidents: Mapping[int, str], folder: Path) -> None:
    """Of the overview, of each incident with its evidence over time, and of the overview on a phone. They replace all
    pictures in ``folder``. incidents: ids by number."""
    for old in folder.glob("*.png"):
        old.unlink()
    asyncio.run(_take(url, incidents, folder))
    for path in folder.glob("*.png"):
        shrink(path)


async def _take(url: str, incidents: Mapping[int, str], folder: Path) -> None:
    async with launched_chromium() as browser:
        wall = await new_page(browser, viewport=WALL)
        await _open(wall, url)
        await wall.screenshot(path=folder / OVERVIEW)
        for number, incident in incidents.items():
            await _open(wall, f"{url}/#incident={incident}")
            await wall.screenshot(path=folder / incident_picture(number))
            if await wall.locator("#plots canvas").count():
                await wall.screenshot(path=folder / evidence_picture(number), clip=await _around(wall, "#plots"))
        phone = await new_page(browser, viewport=PHONE)
        await _open(phone, url)
        await phone.screenshot(path=folder / ON_A_PHONE, full_page=True)


async def _around(page: Page, selector: str) -> FloatRect:
    """The place of an element, with a margin; not above it, where text ends close by."""
    box = await page.locator(selector).bounding_box()
    assert box is not None, f"{selector} is not shown"
    return {
        "x": box["x"] - MARGIN,
        "y": box["y"],
        "width": box["width"] + 2 * MARGIN,
        "height": box["height"] + MARGIN,
    }


async def _open(page: Page, url: str) -> None:
    """Returns when the plots are drawn and the incident is explained. Loads again even where only the part behind #
    differs: as from a link."""
    await page.goto("about:blank")
    async with page.expect_response(lambda answer: answer.url.endswith("/plots"), timeout=SHOWN_MS_MAX) as plots:
        await page.goto(url)
    await (await plots.value).finished()
    await page.locator("#paging a").first.wait_for(timeout=SHOWN_MS_MAX)
    await page.evaluate("() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")


def shrink(path: Path) -> None:
    """Keeps ``COLOURS`` colours of a picture, as repositories keep every version of it."""
    with Image.open(path) as picture:
        fewer = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    fewer.save(path, optimize=True)
