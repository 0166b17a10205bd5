"""The events beside an incident on the NOC page, in a real browser."""

import re
import time
from dataclasses import replace
from typing import Any

from playwright.async_api import expect

from telemetry.events import Event, EventKind, EventState
from telemetry.objects import gpu, port
from tests.unit.fabricscope.api.noc_browser import open_page
from tests.unit.fabricscope.api.traffic import HOSTILE, NS, incident
from tests.unit.traffic import publish_events, publish_incidents


def event(number: int, kind: EventKind, *, ended: bool = True, **fields: Any) -> Event:
    """Of the port that the incident is about, so many seconds before now."""
    now_ns = time.time_ns()
    began_ns, ended_ns = now_ns - number * NS, now_ns - (number - 5) * NS if ended else 0
    of = port("leaf1", "Ethernet4")
    state = EventState.ENDED if ended else EventState.OPEN
    times = began_ns - 10 * NS, began_ns, ended_ns, ended_ns
    whole = Event(f"e{number}", kind, state, of, "metric", "gnmi/leaf1", now_ns, *times, where="leaf1/Ethernet4")
    return replace(whole, **fields)


async def test_the_events_of_its_scope_stand_beside_an_incident(api, bus, browser):
    elsewhere = replace(event(70, EventKind.XID), object=gpu("node9", "GPU-9"))
    long_ago = event(2000, EventKind.LINK_DOWN)
    bounced = event(40, EventKind.LINK_BOUNCED, count=3)
    paused = event(60, EventKind.PFC_PAUSE, ended=False, priority="3", direction="rx")
    down = event(90, EventKind.LINK_DOWN, where=HOSTILE)
    await publish_incidents(bus, incident())
    await publish_events(bus, elsewhere, long_ago, bounced, paused, down)
    page, problems = await open_page(browser, api.url)
    await expect(page.locator("#events-title")).to_have_text("3 events, latest first")
    lines = page.locator("#events li")
    await expect(lines).to_have_count(3)
    await expect(lines.nth(0)).to_have_text(re.compile(r"^\d\d:\d\d:\d\d leaf1/Ethernet4 link bounced ×3$"))
    await expect(lines.nth(1)).to_have_text(re.compile(r"leaf1/Ethernet4 pfc pause priority 3 rx · goes on$"))
    await expect(lines.nth(2)).to_have_text(re.compile(r"link down · for 5 s to 15 s$"))
    await expect(lines.nth(2)).to_contain_text(HOSTILE)
    assert await page.locator("#events img").count() == 0
    assert problems == []


async def test_events_beyond_those_that_fit_are_counted_and_new_ones_shown(api, bus, browser):
    await publish_incidents(bus, incident())
    await publish_events(bus, *(event(20 + number, EventKind.LINK_BOUNCED) for number in range(12)))
    page, problems = await open_page(browser, api.url)
    await expect(page.locator("#events-title")).to_have_text("12 events, latest first")
    await expect(page.locator("#events li").last).to_have_text(re.compile(r"^\d+ more$"))
    columns = "[...document.querySelectorAll('.columns > div')]"
    fits = f"() => {columns}.every((node) => node.scrollHeight <= node.clientHeight + 1)"
    assert await page.evaluate(fits)
    await publish_events(bus, event(10, EventKind.REBOOT))
    await expect(page.locator("#events-title")).to_have_text("13 events, latest first")
    assert problems == []


async def test_an_entry_of_a_log_is_shown_in_its_own_words(api, bus, browser):
    entry = event(40, EventKind.BMC_LOG, detail=f"critical: Fan 3: {HOSTILE}", where="node1")
    await publish_incidents(bus, incident())
    await publish_events(bus, entry)
    page, problems = await open_page(browser, api.url)
    line = page.locator("#events li")
    await expect(line).to_have_text(re.compile(r"^\d\d:\d\d:\d\d node1 critical: Fan 3: "))
    await expect(line).to_have_text(re.compile(f"{re.escape(HOSTILE)}$"))
    assert await page.locator("#events img").count() == 0
    assert problems == []


async def test_without_events_there_is_no_room_for_them(api, bus, browser):
    await publish_incidents(bus, incident())
    page, problems = await open_page(browser, api.url)
    await expect(page.locator("#detail-title")).to_contain_text("PFC storm")
    await expect(page.locator("#events-title")).to_be_hidden()
    assert problems == []
