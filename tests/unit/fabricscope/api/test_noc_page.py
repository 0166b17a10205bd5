"""The NOC page in a real browser: what it shows, that it speaks to nobody else, and that it fits the wall."""

import re
import time
from dataclasses import replace
from functools import partial

import aiohttp
import numpy as np
import pytest
from playwright.async_api import Page, expect

from fabricscope.api.config import ApiConfig
from fabricscope.api.service import ApiService
from simulator.direct import without_samples
from telemetry.findings import Evidence
from telemetry.incidents import Hypothesis, IncidentKind, IncidentState
from telemetry.objects import gpu, job
from telemetry.samples import Collection, DownReason, SampleBatch
from telemetry.series import SeriesTable
from tests.hostile_texts import WELL_FORMED
from tests.unit.fabricscope.api.noc_browser import ELEMENTS, open_page, poor_contrasts
from tests.unit.fabricscope.api.traffic import HOSTILE, NS, PAUSE, incident, publish_cluster
from tests.unit.telemetry.test_quantities import READ
from tests.unit.traffic import publish_batches, publish_incidents
from tests.waiting import until

NOON_NS = 1_700_049_600 * NS


def collected(device: str, at_ns: int, *, up: bool) -> SampleBatch:
    """One collection of a switch that answers, or does not."""
    table = SeriesTable(f"gnmi/{device}", device, (PAUSE,))
    collection = Collection(1, 0, at_ns, 0.01, None if up else DownReason.TIMEOUT)
    if not up:
        return without_samples(table, collection)
    return SampleBatch(table, collection, np.array([at_ns]), np.array([0], np.uint32), np.array([1.0]))


async def ready(url: str) -> str:
    async with aiohttp.ClientSession() as session, session.get(f"{url}/-/ready") as answer:
        return await answer.text()


async def test_shows_the_incident_with_its_evidence(api, bus, browser):
    await publish_cluster(bus)
    await publish_incidents(bus, incident())
    page, problems = await open_page(browser, api.url)
    await expect(page.locator("#detail-title")).to_have_text(
        "pod1: PFC storm from leaf1/Ethernet4 — 64 GPUs, 1 job stalled"
    )
    await expect(page.locator("#verdict")).to_have_text("1 firing, 0 pending")
    await expect(page.locator("#action")).to_have_text("Drain node1 and look at its PCIe link.")
    await expect(page.locator("#because li")).to_have_text(list(incident().because))
    for_it, against_it = "for it: ECN marks without a pausing host", "against it: no queue is long"
    other = f"incast at leaf1/Ethernet8 (20 %), {for_it}; {against_it}"
    await expect(page.locator("#against li")).to_have_text([other, *incident().against[1:]])
    await expect(page.locator("#missing li")).to_have_text(["leaf3 not heard of"])
    await expect(page.locator("#record")).to_have_text("2nd flap in 24 h")
    await expect(page.locator("#plots canvas")).to_have_count(1)
    await expect(page.locator("#age")).to_contain_text(" s")
    assert problems == []


async def test_a_hostile_label_is_text(api, bus, browser):
    await publish_incidents(bus, incident())
    page, problems = await open_page(browser, api.url)
    await expect(page.locator("#evidence")).to_contain_text(HOSTILE)
    assert await page.locator("#evidence img").count() == 0
    assert problems == []


async def has_elements(page: Page, names: list[str]) -> bool:
    return bool(await page.evaluate(ELEMENTS) == names)


async def test_every_hostile_text_is_text_everywhere_on_the_page(api, bus, browser):
    texts = [text[:500] for text in WELL_FORMED]
    await publish_incidents(bus, *(incident(f"i{number}") for number in range(10)))
    page, problems = await open_page(browser, api.url)
    await expect(page.locator("#verdict")).to_have_text("10 firing, 0 pending")
    await expect(page.locator("#replay-of option")).to_have_count(1)  # what is not in the stream is drawn, too
    await expect(page.get_by_text("Runbook")).to_have_count(1)  # and what is asked for about the incident
    before = await page.evaluate(ELEMENTS)
    for number in range(10):
        text = "\n".join(texts[number::10])
        evidence = tuple(Evidence(each, 1.0, None, each) for each in texts[number:40:10])
        hostile = replace(incident(f"i{number}"), title=text, action=text, first_symptom=text, evidence=evidence)
        said = tuple(texts)
        assert hostile.record is not None
        hostile = replace(hostile, record=replace(hostile.record, line=text))
        await publish_incidents(bus, replace(hostile, gaps=said, because=said, against=said, missing=said))
    for number in range(10):
        listed = page.locator("#incidents li").nth(number)
        await expect(listed).to_contain_text("globalThis.owned=1")
        await listed.locator("button").click()
        await expect(page.locator("#detail-title")).to_contain_text("javascript:")
    await until(partial(has_elements, page, before))  # those of the last incident may be drawn a moment later
    assert await page.evaluate("globalThis.owned") is None
    assert problems == []


async def test_an_incident_that_is_sure_lists_nothing_as_missing(api, bus, browser):
    await publish_incidents(bus, replace(incident(), missing=()))
    page, _ = await open_page(browser, api.url)
    await expect(page.locator("#because li")).to_have_count(2)
    await expect(page.locator("#missing-title")).to_be_hidden()


async def test_an_incident_that_comes_and_goes_says_how_often(api, bus, browser):
    await publish_incidents(bus, replace(incident(), occurrences=3))
    page, _ = await open_page(browser, api.url)
    await expect(page.locator("#record")).to_have_text("this incident has come 3 times · 2nd flap in 24 h")


async def test_what_speaks_against_a_job_stands_beside_what_speaks_for_it(api, bus, browser):
    known = incident()
    other = Hypothesis(IncidentKind.TCP_FALLBACK, job("4711"), 0.2, "it uses sockets")
    against = ("not TCP fallback at job 4711: it does not reach leaf1", known.against[1])
    await publish_incidents(bus, replace(known, alternatives=(other,), against=against))
    page, problems = await open_page(browser, api.url)
    both = "TCP fallback at job 4711 (20 %), for it: it uses sockets; against it: it does not reach leaf1"
    await expect(page.locator("#against li")).to_have_text([both, known.against[1]])
    assert problems == []


async def test_what_speaks_against_another_fault_of_the_same_gpu_stands_beside_it(api, bus, browser):
    known, ref, name = incident(), gpu("node1", "GPU-1"), "node1 GPU 3 (GPU-1)"
    other = Hypothesis(IncidentKind.STRAGGLER, ref, 0.3, "unlike the other 31 GPUs of its job")
    against = (f"not straggler at {name}: it does not explain that {name} is throttled",)
    await publish_incidents(bus, replace(known, root=ref, where=name, alternatives=(other,), against=against))
    page, problems = await open_page(browser, api.url)
    reason = (
        "unlike the other 31 GPUs of its job; against it: it does not explain that node1 GPU 3 (GPU-1) is throttled"
    )
    await expect(page.locator("#against li")).to_have_text([f"straggler at {name} (30 %), for it: {reason}"])
    assert problems == []


async def test_an_incident_from_before_verdicts_shows_its_alternatives(api, bus, browser):
    await publish_incidents(bus, replace(incident(), because=(), against=()))
    page, _ = await open_page(browser, api.url)
    await expect(page.locator("#against li")).to_have_text(
        ["incast at leaf1/Ethernet8 (20 %), for it: ECN marks without a pausing host"]
    )


async def test_it_writes_values_as_the_other_outputs_do(api, browser):
    page, _ = await open_page(browser, api.url)
    written = await page.evaluate(
        """async (rows) => {
          const { quantity } = await import("/quantities.js");
          return rows.map(([value, unit]) => quantity(value, unit));
        }""",
        [[value, unit] for value, unit, _ in READ],
    )
    assert written == [text for *_, text in READ]


async def test_it_reads_times_to_the_millisecond(api, browser):
    page, _ = await open_page(browser, api.url)
    read = await page.evaluate(
        """async (texts) => {
          const { time } = await import("/wire.js");
          return texts.map(time);
        }""",
        ["2023-11-15T12:00:00Z", "2023-11-15T12:00:00.250000001Z", None],
    )
    assert read == [NOON_NS / 1e6, NOON_NS / 1e6 + 250, None]


async def test_without_incidents_all_is_quiet(api, bus, browser):
    await publish_cluster(bus)
    page, problems = await open_page(browser, api.url)
    await expect(page.locator("#quiet")).to_have_text("No incident. 1 of 1 targets answer.")
    await expect(page.locator("#verdict")).to_have_text("All quiet")
    await expect(page.locator("#missing-data")).to_be_hidden()
    assert problems == []


async def test_without_detection_nothing_is_quiet(api, bus, browser, monkeypatch):
    monkeypatch.setattr("fabricscope.api.silent_detection.WINDOW_S", -1)
    await publish_cluster(bus)
    page, _ = await open_page(browser, api.url)
    await expect(page.locator("#missing-data")).to_have_text(
        re.compile("^no detection: analytics has reported nothing")
    )
    await expect(page.locator("#verdict")).to_have_text("State unknown")
    assert (await ready(api.url)).splitlines()[1].startswith("no detection: ")


async def test_without_data_nothing_is_quiet(api, browser):
    page, problems = await open_page(browser, api.url)
    await expect(page.locator("#missing-data")).to_have_text("no data: no target has been collected yet")
    await expect(page.locator("#verdict")).to_have_text("State unknown")
    await expect(page.locator("#quiet")).to_be_hidden()
    assert "no data: no target has been collected yet" in await ready(api.url)
    assert problems == []


@pytest.mark.parametrize(
    ("age_s", "up", "of", "missing", "verdict"),
    [
        (601, 64, 64, r"no data for 60\d s: no target is collected", "State unknown"),
        (1, 1, 64, "63 of 64 targets do not answer", "State unknown"),
        (1, 60, 64, None, "Quiet, but 4 of 64 targets do not answer"),
    ],
)
async def test_the_page_and_readiness_say_the_same_of_data_that_is_missing(
    api, bus, browser, age_s, up, of, missing, verdict
):
    at_ns = time.time_ns() - age_s * NS
    await publish_batches(bus, *(collected(f"leaf{number}", at_ns, up=number < up) for number in range(of)))
    page, problems = await open_page(browser, api.url)
    await expect(page.locator("#targets")).to_have_text(f"{up if age_s < 60 else 0} / {of}")
    await expect(page.locator("#verdict")).to_have_text(verdict)
    await expect(page.locator("#quiet")).to_be_visible(visible=missing is None)
    if missing is None:
        await expect(page.locator("#missing-data")).to_be_hidden()
    else:
        await expect(page.locator("#missing-data")).to_have_text(re.compile(missing))
    assert re.search(missing or verdict.removeprefix("Quiet, but "), await ready(api.url))
    assert problems == []


async def test_what_is_open_stays_to_be_seen_without_data(api, bus, browser):
    await publish_incidents(bus, incident())
    page, _ = await open_page(browser, api.url)
    await expect(page.locator("#missing-data")).to_be_visible()
    await expect(page.locator("#verdict")).to_have_text("1 firing, 0 pending")
    assert await poor_contrasts(page) == []


@pytest.mark.parametrize(("width", "height"), [(1920, 1080), (3840, 2160)])
async def test_fits_the_wall_and_is_readable(api, bus, browser, width, height):
    await publish_cluster(bus)
    for number in range(12):
        await publish_incidents(bus, incident(f"i{number}", IncidentState.FIRING if number else IncidentState.RESOLVED))
    page, _ = await open_page(browser, api.url, width, height)
    await expect(page.locator("#incidents li")).to_have_count(10)
    overflow = await page.evaluate("document.documentElement.scrollHeight - innerHeight")
    assert overflow <= 0
    last, around = [await page.locator(each).bounding_box() for each in ("#incidents li >> nth=9", "#list")]
    assert last is not None
    assert around is not None
    assert last["y"] + last["height"] <= around["y"] + around["height"] <= height
    assert await poor_contrasts(page) == []


async def test_the_keyboard_chooses_an_incident(api, bus, browser):
    await publish_incidents(bus, incident("first", gpu_seconds=100.0))
    await publish_incidents(bus, incident("second", gpu_seconds=1.0))
    page, _ = await open_page(browser, api.url)
    await expect(page.locator("#incidents li")).to_have_count(2)
    for _ in ("theme", "first", "second"):
        await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.locator("#incidents li").nth(1).locator("button")).to_have_attribute("aria-current", "true")


async def test_a_link_opens_its_incident_until_another_one_is_chosen(api, bus, browser):
    await publish_incidents(bus, incident("first", gpu_seconds=100.0), incident("second", gpu_seconds=1.0))
    page, problems = await open_page(browser, f"{api.url}/#incident=second")
    first, second = page.locator("#incidents button").nth(0), page.locator("#incidents button").nth(1)
    await expect(second).to_have_attribute("aria-current", "true")
    await publish_incidents(bus, incident("first", gpu_seconds=200.0))
    await expect(first).to_contain_text("0.06 GPU-hours")
    await expect(second).to_have_attribute("aria-current", "true")
    await first.click()
    await expect(first).to_have_attribute("aria-current", "true")
    assert page.url == f"{api.url}/"
    await page.goto(f"{api.url}/#incident=second")
    await expect(second).to_have_attribute("aria-current", "true")
    assert problems == []


async def test_a_link_opens_an_incident_that_is_not_listed(api, bus, browser):
    await publish_incidents(bus, *(incident(f"i{number}") for number in range(50)))
    await publish_incidents(bus, replace(incident("over", IncidentState.RESOLVED), action="Nothing more to do."))
    page, problems = await open_page(browser, f"{api.url}/#incident=over")
    await expect(page.locator("#action")).to_have_text("Nothing more to do.")
    await expect(page.locator("#gone")).to_be_hidden()
    assert problems == []


async def test_a_link_to_an_incident_that_is_gone_says_so(api, bus, browser):
    await publish_incidents(bus, incident("first"))
    page, _ = await open_page(browser, f"{api.url}/#incident=%3Cb%3Eold")
    await expect(page.locator("#gone")).to_have_text(
        "Incident <b>old is not known here: it is over and forgotten, or of another cluster."
    )
    await expect(page.locator("#detail")).to_be_hidden()
    await page.locator("#incidents button").click()
    await expect(page.locator("#detail-title")).to_be_visible()
    await expect(page.locator("#gone")).to_be_hidden()


async def test_an_update_keeps_the_focus_and_what_is_selected(api, bus, browser):
    await publish_incidents(bus, incident("first"), incident("second", gpu_seconds=1.0))
    page, problems = await open_page(browser, api.url)
    first, second = page.locator("#incidents button").nth(0), page.locator("#incidents button").nth(1)
    await second.focus()
    await page.evaluate("getSelection().selectAllChildren(document.getElementById('action'))")
    await publish_incidents(bus, incident("first", gpu_seconds=9 * 3600.0))
    await expect(first).to_contain_text("9.00 GPU-hours lost")
    await expect(second).to_be_focused()
    assert await page.evaluate("getSelection().toString()") == incident().action
    await publish_incidents(bus, incident("second", gpu_seconds=90 * 3600.0))
    await expect(first).to_contain_text("90 GPU-hours lost")
    await expect(first).to_be_focused()  # it is the worst now, and still the one that was chosen
    assert problems == []


async def test_what_does_not_fit_is_counted_and_shown_when_asked_for(api, bus, browser):
    await publish_incidents(bus, *(incident(f"i{number}") for number in range(12)))
    page, _ = await open_page(browser, api.url)
    await expect(page.locator("#more")).to_have_text("2 more open incidents: show")
    await page.locator("#more").click()
    await expect(page.locator("#incidents li")).to_have_count(12)
    await expect(page.locator("#more")).to_be_hidden()


async def test_an_incident_that_is_over_says_when_and_is_no_alarm(api, bus, browser):
    over = replace(incident("over", IncidentState.RESOLVED), onset_ns=NOON_NS, resolved_ns=NOON_NS + 600 * NS)
    await publish_incidents(bus, over)
    page, _ = await open_page(browser, api.url)
    button = page.locator("#incidents button")
    await expect(button).to_contain_text("✓ RESOLVED")
    await expect(button).to_contain_text("resolved at 12:10:00 after 10 min")
    await expect(button).to_have_class("resolved")
    await expect(page.locator("#since")).to_contain_text("resolved at 12:10:00 after 10 min · confidence")


async def test_a_phone_shows_it_in_one_column(api, bus, browser):
    await publish_cluster(bus)
    await publish_incidents(bus, incident())
    page, _ = await open_page(browser, api.url, 390, 844)
    await expect(page.locator("#incidents li")).to_have_count(1)
    assert await page.evaluate("document.documentElement.scrollWidth") <= 390
    for part in ("#incidents button", "#detail-title", "#action"):
        box = await page.locator(part).bounding_box()
        assert box is not None
        assert box["width"] >= 330


async def test_reconnects_after_a_restart(api, bus, state_dir, browser):
    await publish_cluster(bus)
    page, _ = await open_page(browser, api.url)
    await expect(page.locator("#verdict")).to_have_text("All quiet")
    port = int(api.url.rpartition(":")[2])
    await api.stop()
    await expect(page.locator("#missing-data")).to_contain_text("Reconnecting")
    await expect(page.locator("#verdict")).to_have_text("State unknown")
    again = ApiService(ApiConfig(port=port, state_dir=state_dir), bus)
    await again.start()
    try:
        await publish_incidents(bus, incident())
        await expect(page.locator("#verdict")).to_have_text("1 firing, 0 pending")
    finally:
        await again.stop()
