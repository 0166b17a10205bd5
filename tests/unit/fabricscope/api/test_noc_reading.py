"""Three faults at once on 512 GPUs: nothing on the page is cut, too small, on top of something else, or said twice."""

import time
from dataclasses import replace
from unittest.mock import ANY

import pytest
from playwright.async_api import Page, expect

from telemetry.findings import Evidence
from telemetry.incidents import Incident, IncidentState, Severity
from tests.unit.fabricscope.api.busy_wall import SECONDS, incidents, publish_busy_wall
from tests.unit.fabricscope.api.noc_browser import keep_picture, open_page, poor_contrasts
from tests.unit.fabricscope.api.traffic import incident
from tests.unit.traffic import publish_incidents

SIZES = {"wall": (1920, 1080), "4k": (3840, 2160), "phone": (390, 844)}

# Texts that do not fit into what they stand in. A name that is too long has the whole of it as its title.
CUT_TEXTS = """() => [...document.querySelectorAll("body *")]
  .filter((node) => node.offsetParent && node.innerText && !node.title)
  .filter((node) => getComputedStyle(node).overflowX !== "visible" && node.scrollWidth > node.clientWidth + 1)
  .map((node) => [node.id || node.className || node.localName, node.innerText.slice(0, 60)])"""

# Parts that did not fit into their line of a card, and so went to the next one, which is not shown.
LEFT_OUT = """() => [...document.querySelectorAll("#overview li > *")]
  .filter((node) => node.offsetTop + 2 > node.parentElement.offsetTop + node.parentElement.clientHeight)
  .map((node) => node.parentElement.innerText)"""

# Texts of the map: their size as a share of the page's letters, and whether they are within their box.
MAP_TEXTS = """() => {
  const letters = parseFloat(getComputedStyle(document.documentElement).fontSize);
  const inside = (a, b) => a.left >= b.left && a.right <= b.right && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
  return [...document.querySelectorAll("#fabric-map .box text")].filter((node) => node.textContent).map((node) => {
    const around = node.parentElement.querySelector("rect").getBoundingClientRect();
    const size = parseFloat(node.getAttribute("font-size")) / letters;
    return [node.textContent, size, inside(node.getBoundingClientRect(), around)];
  });
}"""

# Texts of the detail and the cards that lie on one another.
OVERLAPS = """() => {
  const nodes = [...document.querySelectorAll("h2,h3,p,li,dd,dt,.plot canvas")];
  const seen = nodes.filter((node) => node.offsetParent && (node.innerText || node.localName === "canvas"));
  const boxes = seen.map((node) => [node, node.getBoundingClientRect()]);
  const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2;
  const nested = (one, other) => one.contains(other) || other.contains(one);
  const apart = (one, other) => one.closest("section") !== other.closest("section")
    || !one.closest(".columns") !== !other.closest(".columns");  // what is scrolled away lies under its neighbours
  return boxes.flatMap(([one, a], at) => boxes.slice(at + 1)
    .filter(([other, b]) => !nested(one, other) && !apart(one, other) && meet(a, b))
    .map(([other]) => [one.innerText?.slice(0, 30), other.innerText?.slice(0, 30)]));
}"""

SCROLLS = """() => [...document.querySelectorAll(".columns > div,.plot > div,#plots,#incidents,#unhealthy,html")]
  .filter((node) => node.scrollHeight > node.clientHeight + 2)
  .map((node) => [node.id || node.ariaLabel || node.localName, node.scrollHeight, node.clientHeight])"""


async def test_what_needs_two_lines_on_a_laptop_has_them(api, bus, browser):
    """Where to go on wraps, and the charts that fit beside each other are whole."""
    await publish_busy_wall(bus, api.url)
    await publish_incidents(bus, *incidents(time.time_ns()))
    page, _ = await open_page(browser, api.url)
    await page.set_viewport_size({"width": 1400, "height": 1000})
    await expect(page.locator("#paging li")).not_to_have_count(0)
    await expect(page.locator("#plots canvas")).not_to_have_count(0)
    await keep_picture(page, "noc-laptop")
    assert await page.evaluate(OVERLAPS) == []
    assert await page.evaluate("(({scrollHeight, clientHeight}) => scrollHeight <= clientHeight + 2)(detail)")
    heights = await page.evaluate("[...document.querySelectorAll('#plots canvas')].map((node) => node.clientHeight)")
    assert min(heights) > 40


async def test_long_texts_fit_beside_those_that_are_over(api, bus, browser):
    """As after a start in which switches were silent, with a title of two lines and all effects there are."""
    await publish_busy_wall(bus, api.url)
    over = [silent_leaf(number) for number in range(7)]
    storage = incidents(time.time_ns())[0]
    title = (
        "[CRIT] storage: storage target scratch/OST0001 slow — 512 GPUs, job 4711 stalled, 2 jobs slowed by up to 53 %"
    )
    because = (*storage.because, "it predicts what else is seen: job idle (2), job slowed (3)")
    against = (*storage.against, "not environment: nothing is too warm, and no part of a power supply has failed")
    evidence = (*storage.evidence, Evidence(SECONDS.replace("read", "write"), 0.9, 0.02, "seconds an operation"))
    longest = replace(storage, title=title, because=because, against=against, evidence=evidence)
    await publish_incidents(bus, *over, longest)
    page, _ = await open_page(browser, api.url)
    await expect(page.locator("#more")).to_have_text("4 more: show")
    await expect(page.locator("#detail-title")).to_contain_text("job 4711 stalled")
    await expect(page.locator("#plots canvas")).to_have_count(2)
    await expect(page.locator("#suppressed li")).not_to_have_count(0)
    await expect(page.locator("#unhealthy li")).not_to_have_count(0)
    await keep_picture(page, "noc-busy-over")
    assert await page.evaluate(SCROLLS) == []
    assert await page.evaluate(OVERLAPS) == []
    assert [text for text, letters, inside in await page.evaluate(MAP_TEXTS) if letters < 0.7 or not inside] == []
    await expect(page.locator("#fabric-map .box").first).to_contain_text("32 spines")
    titles = page.locator("#incidents button > span:nth-child(2)")
    for button in await page.locator("#incidents button").all():
        assert await button.evaluate("(node) => node.scrollWidth <= node.clientWidth")
    await expect(titles.first).to_have_text("storage: storage target scratch/OST0001 slow")


def silent_leaf(number: int) -> Incident:
    title = f"[INFO] pod4: no telemetry from leaf{number + 25} — no job reached"
    return replace(incident(f"over{number}", IncidentState.RESOLVED, 0.0), severity=Severity.INFO, title=title)


async def choose(page: Page, title: str, plots: int) -> None:
    await page.locator("#incidents button").filter(has_text=title).click()
    await expect(page.locator("#detail-title")).to_contain_text(title)
    await expect(page.locator("#plots canvas")).to_have_count(plots)
    await expect(page.locator("#suppressed li")).not_to_have_count(0)


@pytest.mark.parametrize("scheme", ["dark", "light"])
@pytest.mark.parametrize("size", SIZES)
async def test_nothing_is_cut_too_small_or_on_top_of_something_else(api, bus, browser, scheme, size):
    await publish_busy_wall(bus, api.url)
    page, problems = await open_page(browser, api.url, *SIZES[size], scheme=scheme)
    await expect(page.locator("#pace li")).to_have_count(3)
    await expect(page.locator("#fabric-map .box")).to_have_count(11)
    await expect(page.locator("#unhealthy li")).not_to_have_count(0)
    for title, plots in (("PFC storm", 1), ("GPU fault", 1), ("storage target", 2)):
        await choose(page, title, plots)
        await keep_picture(page, f"noc-busy-{title.replace(' ', '-')}-{size}-{scheme}", full_page=size == "phone")
        assert await page.evaluate(CUT_TEXTS) == []
        assert await page.evaluate(OVERLAPS) == []
        assert await poor_contrasts(page) == []
        assert await page.evaluate(SCROLLS) == ([] if size != "phone" else [ANY])
    await expect(page.locator("#fabric-map .box", has_text="cause")).not_to_have_count(0)
    texts = await page.evaluate(MAP_TEXTS)
    assert [text for text, letters, inside in texts if letters < 0.7 or not inside] == []
    assert any("cause" in text for text, *_ in texts)
    if size != "phone":
        assert await page.evaluate(LEFT_OUT) == []
    assert problems == []
