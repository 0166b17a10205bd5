"""The NOC page of a cluster that is well, its fabric, and an incident in it: in a real browser."""

import time
from dataclasses import replace

import pytest
from playwright.async_api import Page, expect

from telemetry.findings import Evidence, FindingKind
from telemetry.incidents import Incident
from telemetry.objects import gpu, port
from tests.unit.fabricscope.api.noc_browser import keep_picture, open_page, poor_contrasts
from tests.unit.fabricscope.api.traffic import incident
from tests.unit.fabricscope.api.wall_cluster import (
    NS,
    TENSOR,
    finding,
    publish_findings,
    publish_wall,
    silent_round,
)
from tests.unit.traffic import publish_batches, publish_incidents

SIZES = {"wall": (1920, 1080), "wall-4k": (3840, 2160), "phone": (390, 844)}
STEADY = [0.4] * 12
FALLEN = [*STEADY, *[0.1] * 6]
WORK = f'{TENSOR}{{device="node1",gpu="GPU-1-1"}}'
BOX = "#fabric-map .box"


def in_the_cluster(now_ns: int) -> Incident:
    """What a GPU of the cluster does since a minute, with two findings."""
    onset_ns = now_ns - 60 * NS
    return replace(
        incident(),
        root=gpu("node1", "GPU-1-1"),
        title="[CRIT] pod1: node1/GPU-1-1 fell",
        onset_ns=onset_ns,
        evidence=(Evidence(WORK, 0.1, 0.4, "ratio"),),
        findings=("f1", "f2"),
    )


async def publish_incident(bus, url: str) -> None:
    await publish_wall(bus, url, FALLEN)
    now_ns = time.time_ns()
    await publish_findings(
        bus,
        finding("f1", gpu("node1", "GPU-1-1"), 2.0, now_ns - 60 * NS, FindingKind.GPU_THROTTLED),
        finding("f2", port("leaf1", "Ethernet4"), 9.0, now_ns - 50 * NS, FindingKind.PFC_PAUSE_RECEIVED),
    )
    await publish_incidents(bus, in_the_cluster(now_ns))


async def is_drawn(page: Page) -> None:
    """Also what is not in the stream."""
    await expect(page.locator("#pace li")).not_to_have_count(0)
    await expect(page.locator(BOX)).to_have_count(5)


async def test_a_quiet_wall_says_what_is_healthy(api, bus, browser):
    await publish_wall(bus, api.url, STEADY)
    page, problems = await open_page(browser, api.url)
    await is_drawn(page)
    await expect(page.locator("#verdict")).to_have_text("All quiet")
    await expect(page.locator("#pace")).to_contain_text("train 4711")
    await expect(page.locator("#pace")).to_contain_text("100 %✓ as usual4 GPUsbusy 40 % of 40 %")
    await expect(page.locator("#gpu-time li").nth(0)).to_contain_text("2.00watched since")
    await expect(page.locator("#gpu-time li").nth(1)).to_have_text("0.50 (25 %)lost")
    await expect(page.locator("#traffic li").nth(0)).to_have_text("leaves – hosts25 %of 3.2 Tbit/s4 links")
    await expect(page.locator("#silent")).to_have_text("✓ all answer")
    await expect(page.locator("#unhealthy-title")).to_have_text("✓ Nothing unhealthy here")
    assert problems == []


async def test_a_job_that_got_slower_says_by_how_much(api, bus, browser):
    await publish_wall(bus, api.url, FALLEN)
    page, _ = await open_page(browser, api.url)
    await expect(page.locator("#pace")).to_contain_text("25 %, steps ×4.0▼ slow4 GPUsbusy 10 % of 40 %")


async def test_a_silent_target_says_since_when(api, bus, browser):
    await publish_wall(bus, api.url, STEADY)
    now_ns = time.time_ns()
    since = time.strftime("%H:%M:%S", time.gmtime(now_ns // NS - 30))
    await publish_batches(bus, *(silent_round("dcgm/node3", "node3", n, now_ns - (30 - 10 * n) * NS) for n in range(3)))
    page, problems = await open_page(browser, api.url)
    await expect(page.locator("#silent li").nth(0)).to_have_text("✖ 1 target silent")
    await expect(page.locator("#silent li").nth(1)).to_contain_text(f"dcgm/node3since {since} (")
    await expect(page.locator("#verdict")).to_contain_text("Quiet, but 1 of")
    assert problems == []


async def test_the_fabric_leads_into_a_pod_and_a_rack_by_mouse_and_keyboard(api, bus, browser):
    await publish_incident(bus, api.url)
    page, problems = await open_page(browser, api.url)
    await is_drawn(page)
    await expect(page.locator("#fabric-map .bundle")).to_have_count(4)
    await expect(page.locator("#fabric-map .fault")).to_have_count(1)
    await expect(page.locator("#unhealthy li")).to_have_count(2)
    await expect(page.locator("#unhealthy li").nth(0)).to_contain_text("▲ cause")
    await expect(page.locator("#unhealthy li").nth(0)).to_contain_text("node1 GPU 1 (GPU-1-1)")
    await page.locator(BOX).filter(has_text="pod1 · 2 hosts").click()
    await expect(page.locator("#fabric-title")).to_have_text("Fabric: pod pod1")
    await expect(page.locator("#fabric-back")).to_be_focused()
    rack = page.locator(BOX).filter(has_text="r1 · 2 hosts")
    await expect(rack).to_have_attribute("role", "button")
    await rack.focus()
    await page.keyboard.press("Enter")
    await expect(page.locator("#fabric-title")).to_have_text("Fabric: pod pod1, rack r1")
    await expect(page.locator(BOX).filter(has_text="node1")).to_contain_text("▲ cause here, 1 unhealthy")
    await page.locator("#fabric-back").press("Enter")
    await page.locator("#fabric-back").press("Enter")
    await expect(page.locator("#fabric-title")).to_have_text("Fabric")
    await expect(page.locator("#fabric-back")).to_be_hidden()
    await expect(page.locator(BOX).first).to_be_visible()
    assert problems == []


async def test_an_incident_tells_from_its_cause_to_its_cost(api, bus, browser):
    await publish_incident(bus, api.url)
    page, problems = await open_page(browser, api.url)
    await expect(page.locator("#detail-title")).to_have_text("pod1: node1 GPU 1 (GPU-1-1) fell")
    await expect(page.locator("#chain li")).to_have_count(5)
    await expect(page.locator("#chain li").nth(0)).to_contain_text("a host pauses its leaf port")
    await expect(page.locator("#chain li").nth(2)).to_contain_text("its peer pauses it for much of the time (1 object)")
    await expect(page.locator("#chain li").nth(4)).to_have_text("Cost so far2.00 GPU-hours lost")
    await expect(page.locator("#suppressed-title")).to_have_text("2 findings explained by it, and so no page")
    await expect(page.locator("#suppressed li").nth(0)).to_contain_text("node1 GPU 1 (GPU-1-1) is throttled")
    evidence = page.locator("#evidence li")
    await expect(evidence).to_have_text(f"10 % (normal 40 %) ▼ lower is worse · node1 GPU 1 (GPU-1-1) · {TENSOR}")
    assert problems == []


async def test_normal_is_what_was_before_the_onset(api, bus, browser):
    """Of the 18 values the last 6 are the fault's."""
    await publish_incident(bus, api.url)
    page, _ = await open_page(browser, api.url)
    legend = page.locator("#plots .plot p")
    await expect(legend).to_have_text("▼ lower is worse · band: before, 40 % · dashes: normal 40 % · red: onset")
    unlearned = replace(in_the_cluster(time.time_ns()), evidence=(Evidence(WORK, 0.1, None, "ratio"),))
    await publish_incidents(bus, unlearned)
    await expect(page.locator("#evidence li")).to_contain_text("10 % (no normal learned yet)")
    await expect(legend).to_have_text("band: before, 40 % · red: onset")


async def test_of_a_fault_that_was_always_there_no_normal_is_shown(api, bus, browser):
    await publish_incident(bus, api.url)
    page, _ = await open_page(browser, api.url)
    now_ns = time.time_ns()
    always = replace(
        in_the_cluster(now_ns), onset_ns=now_ns - 3600 * NS, evidence=(Evidence(WORK, 0.1, None, "ratio"),)
    )
    await publish_incidents(bus, always)
    await expect(page.locator("#plots .plot p")).to_have_text("nothing is known of before · red: onset")


@pytest.mark.parametrize("scheme", ["dark", "light"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["incident", "quiet"])
async def test_it_is_readable_in_both_themes_and_all_sizes(api, bus, browser, scheme, size, kind):
    await (publish_incident(bus, api.url) if kind == "incident" else publish_wall(bus, api.url, STEADY))
    page, problems = await open_page(browser, api.url, *SIZES[size], scheme=scheme)
    await is_drawn(page)
    if kind == "incident":
        await expect(page.locator("#plots canvas")).to_have_count(1)
        await expect(page.locator("#suppressed li")).to_have_count(2)
    assert await poor_contrasts(page) == []
    wide, high = await page.evaluate(OVERFLOW)
    assert wide <= 0
    if size == "phone":
        assert min(await page.evaluate(SMALLEST_LETTERS)) >= 10
    else:
        assert high <= 0
        assert await page.evaluate(CUT_OFF) == []
    await keep_picture(page, f"noc-{kind}-{size}-{scheme}", full_page=size == "phone")
    assert problems == []


# Sizes of the letters of all texts that are on the page, in CSS pixels. The map's are given in its own attributes.
SMALLEST_LETTERS = """() => [...document.querySelectorAll("p,li,span,b,h2,h3,dt,dd,button")]
  .filter((node) => node.innerText && node.offsetParent).map((node) => parseFloat(getComputedStyle(node).fontSize))"""

# By how much the page is wider and higher than the screen.
OVERFLOW = """() => {
  const { scrollWidth, scrollHeight } = document.documentElement;
  return [scrollWidth - innerWidth, scrollHeight - innerHeight];
}"""

# Sections whose content does not fit into them.
CUT_OFF = """() => [...document.querySelectorAll("section,.columns > div,#chain,#plots,#overview li")]
  .filter((node) => node.offsetParent)
  .filter((node) => node.scrollHeight > node.clientHeight + 2 || node.scrollWidth > node.clientWidth + 2)
  .map((node) => [node.id, node.ariaLabel, node.scrollHeight, node.clientHeight, node.innerText.slice(0, 40)])"""


async def test_the_theme_is_the_systems_until_somebody_chooses_and_stays_chosen(api, bus, browser):
    await publish_wall(bus, api.url, STEADY)
    page, problems = await open_page(browser, api.url, scheme="light")
    root = page.locator("html")
    await expect(root).to_have_attribute("data-theme", "light")
    await page.emulate_media(color_scheme="dark")
    await expect(root).to_have_attribute("data-theme", "dark")
    await page.locator("#theme").press("Enter")
    await expect(root).to_have_attribute("data-theme", "light")
    await page.reload()
    await expect(root).to_have_attribute("data-theme", "light")
    await expect(page.locator("#theme")).to_have_text("☾ dark")
    assert problems == []


async def test_every_control_is_reached_with_the_keyboard_and_shows_it(api, bus, browser):
    await publish_incident(bus, api.url)
    page, _ = await open_page(browser, api.url)
    await is_drawn(page)
    await expect(page.locator("#suppressed li")).to_have_count(2)
    reached = set()
    for _ in range(12):
        await page.keyboard.press("Tab")
        what, outlined = await page.evaluate(FOCUSED)
        assert outlined, what
        reached.add(what)
    assert {"theme", "host/pod=pod1", "host/pod=pod2", "Evidence and first action", "Why this cause"} <= reached
    assert any(what.startswith("▲ CRITICAL") for what in reached)


# What has the keyboard's focus, and whether that can be seen: by an outline, or by the frame of a box of the map.
FOCUSED = """() => {
  const node = document.activeElement;
  const frame = node.querySelector?.(":scope > rect");
  const outlined = getComputedStyle(node).outlineStyle !== "none";
  const seen = frame ? parseFloat(getComputedStyle(frame).strokeWidth) >= 3 : outlined;
  return [node.id || node.dataset.id || node.ariaLabel || node.innerText, seen || node === document.body];
}"""
