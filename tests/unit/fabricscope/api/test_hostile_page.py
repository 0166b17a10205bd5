"""Every hostile text in what surrounds the incidents of the NOC page, in a real browser, and in addresses."""

import asyncio
import json
import re
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

import aiohttp
import pytest
from playwright.async_api import Browser, Page, Request, Route, expect

from bus.base import Message
from fabricscope.api.config import ApiConfig
from fabricscope.api.service import ApiService
from telemetry import topics
from telemetry.codec.records import encode_record
from telemetry.incidents import IncidentKind
from telemetry.runbooks import runbook
from telemetry.topology import Device, Entity, Gpu, Job, Role, TopologyFact
from tests.hostile_texts import CATEGORIES, WELL_FORMED, joined
from tests.servers.chromium import new_page
from tests.unit.fabricscope.api.noc_browser import ELEMENTS, open_page
from tests.unit.fabricscope.api.test_noc_wall import is_drawn, publish_incident
from tests.unit.fabricscope.api.traffic import eventually, get
from tests.waiting import DEADLINE_S, until

# The parts of the page that are not of the stream, drawn now, and what they then say.
DRAW = """async ({ incident, explanation }) => {
  const [overview, fabric, replay, explained, wire] = await Promise.all(
    ["overview", "fabric", "replay", "explanation", "wire"].map((name) => import(`/${name}.js`)));
  const seen = await overview.refreshOverview();
  replay.offerReplays(seen.replays);
  await fabric.refreshFabric();
  explained.drawExplanation(wire.incident(incident), explanation);
  const parts = ["pace", "gpu-time", "traffic", "silent", "fabric-title", "fabric-map", "unhealthy", "replay-of",
    "chain", "suppressed"];
  return Object.fromEntries(parts.map((id) => [id, document.getElementById(id).textContent]));
}"""


async def every_part_shows(page: Page, given: Mapping[str, Any], text: str) -> bool:
    """Not at once where the page itself has asked meanwhile, as it does every few seconds: then that is drawn."""
    shown = await page.evaluate(DRAW, given)
    return all(plain(text) in plain(shown[part]) for part in shown)


def plain(text: str) -> str:
    """Without what the page may change: kinds lose their underscores, and a number keeps its percent sign."""
    return text.replace("_", " ").replace("\u00a0", " ")


def with_text(found: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The answers of the API with the text in place of each that devices, jobs and people choose."""
    answers: dict[str, Any] = json.loads(json.dumps(found))
    overview, fabric, incident, explanation = (
        answers[name] for name in ("overview", "fabric", "incident", "explanation")
    )
    overview["jobs"] = [{**overview["jobs"][0], "job_id": text, "name": text, "user": text}]
    overview["gpu_hours"]["lost"] = {text: 1.0}
    overview["traffic"] = [{**one, "tier": text} for one in overview["traffic"]]
    silent = {"target": text, "device": text, "reason": text, "since": overview["at"]}
    overview |= {"silent": [silent], "silent_targets": 1}
    overview["replays"] = [{"id": text, "recording": text, "ended": overview["at"]}]
    fabric |= {"pod": text, "rack": text}
    ids = {box["id"]: f"{number} {text}" for number, box in enumerate(fabric["boxes"])}
    fabric["boxes"] = [{**box, "id": ids[box["id"]], "name": text, "pod": text, "rack": "r"} for box in fabric["boxes"]]
    for line in (*fabric["bundles"], *fabric["lines"]):
        line |= {"a": ids[line["a"]], "b": ids[line["b"]]}
    fabric["unhealthy"] = [
        {**one, "name": f"{text}/{text}", "text": text, "incident": text} for one in fabric["unhealthy"]
    ]
    incident |= {"first_symptom": text}
    incident["root"]["name"] = text
    explanation["cause"] = text
    explanation["effects"] = [{**one, "meaning": text} for one in explanation["effects"]]
    suppressed = explanation["suppressed"]
    explanation["suppressed"] = [{**one, "object": {"kind": "gpu", "name": text}, "text": text} for one in suppressed]
    explanation["gpus"] = {f"{text}/{text}": text}
    return answers


def hostile_cluster() -> list[Entity]:
    """A pod, a rack, a leaf, a host, a GPU and a job for each text."""
    found: list[Entity] = []
    for number, text in enumerate(joined(450)):
        place, host = (text, f"{text} r"), f"{number} {text} h"
        found += [Device(f"{number} {text}", Role.LEAF, *place), Device(host, Role.HOST, *place)]
        found += [Gpu(host, text, number), Job(text, (host,), name=text, user=text)]
    return found


async def test_every_hostile_text_is_text_around_the_incidents(api, bus, browser):
    await publish_incident(bus, api.url)
    page, problems = await open_page(browser, api.url)
    await is_drawn(page)
    await expect(page.locator("#suppressed li")).to_have_count(2)
    await expect(page.locator("#plots canvas")).to_have_count(1)
    paths = {
        "overview": "overview",
        "fabric": "fabric",
        "incident": "incidents/i1",
        "explanation": "incidents/i1/explanation",
    }
    found = {name: (await get(api.url, f"/api/v1/{path}"))[1] for name, path in paths.items()}
    await expect(page.locator("#replay-of option")).to_have_count(1)
    await expect(page.locator("meter").first).to_be_attached()  # of a job, which the page may know later than the API
    before = set(await page.evaluate(ELEMENTS))

    given = found
    for name in ("overview", "fabric"):

        async def answer(route: Route, _: Request, name: str = name) -> None:
            await route.fulfill(json=given[name])

        await page.route(f"**/api/v1/{name}*", answer)
    for text in joined(900):
        given = with_text(found, text)
        await until(partial(every_part_shows, page, given, text))
    assert set(await page.evaluate(ELEMENTS)) <= before
    await page.unroute_all()

    cluster = [TopologyFact(one, 1, "inventory") for one in hostile_cluster()]
    await bus.publish(topics.TOPOLOGY, [Message(one.entity.key.encode(), encode_record(one)) for one in cluster])
    await eventually(api.url, "/api/v1/overview", lambda body: body["jobs_running"] == len(joined(450)) + 1)
    for text in joined(450):
        _, scope = await get(api.url, f"/api/v1/fabric?{urlencode({'pod': text})}")
        assert {f"{text} r"} <= {box["name"] for box in scope["boxes"]}
    await page.evaluate(DRAW, found)
    await expect(page.locator("#fabric-map")).to_contain_text("<svg/onload")
    assert set(await page.evaluate(ELEMENTS)) <= before
    assert await page.evaluate("globalThis.owned") is None
    assert problems == []


async def test_a_gpu_is_named_by_its_own_name_whatever_that_is(api, browser):
    page, _ = await open_page(browser, api.url)
    named = await page.evaluate(
        """async (names) => {
          const { withNames } = await import("/names.js");
          return names.map((name) => withNames(`see ${name}.`, { [name]: `n GPU 3 · ${name.slice(2)}` }));
        }""",
        [f"n/{mark}" for mark in ("GPU-1", "$&", "$'", "$`", "$$", "$1", "<b>", "__proto__")],
    )
    assert named == [f"see n GPU 3 · {mark}." for mark in ("GPU-1", "$&", "$'", "$`", "$$", "$1", "<b>", "__proto__")]


async def test_no_address_after_the_login_leads_elsewhere_or_runs(api, browser):
    """Of markup one end each: Chromium takes 200 navigations in ten seconds."""
    markup = CATEGORIES["HTML"]
    texts = [*markup[::10], *(text[:2000] for text in WELL_FORMED if text not in markup)]
    texts += [
        "data:text/html,<script>1</script>",
        "blob:x",
        "//user@evil.example",
        "\\\\evil.example",
        "https:evil.example",
    ]
    assert len(texts) < 200
    page, ended = await logged_in(browser, api.url)
    for text in texts:
        await page.evaluate(LOG_IN, text)
        async with asyncio.timeout(DEADLINE_S):
            assert urlsplit(await ended.get())[:2] == urlsplit(api.url)[:2]
    assert await page.evaluate("globalThis.owned") is None


LOG_IN = """(text) => {
  history.replaceState(null, "", `/login?${new URLSearchParams({ next: text })}`);
  document.getElementById("token").value = "x";
  document.getElementById("login").requestSubmit();
}"""


async def logged_in(browser: Browser, url: str) -> tuple[Page, asyncio.Queue[str]]:
    """The form, for which every token is right, and where its navigations led. They end there: the page stays."""
    page, ended = await new_page(browser), asyncio.Queue[str]()
    await page.goto(f"{url}/login")
    await page.evaluate("globalThis.fetch = async () => ({ ok: true })")
    await page.route("**", lambda route: route.fulfill(status=204))
    page.on("requestfinished", lambda request: ended.put_nowait(request.url))
    page.on("requestfailed", lambda request: ended.put_nowait(request.url))
    return page, ended


async def test_who_has_to_log_in_first_is_led_back_to_the_same_page_alone(bus, replace, state_dir):
    closed = await replace(ApiService(ApiConfig(port=0, state_dir=state_dir, token_for_reading=True), bus))
    page = {"Accept": "text/html"}
    async with aiohttp.ClientSession(closed.url) as session:
        for text in WELL_FORMED:
            path = f"/{quote(text[:300], safe='')}?since={quote(text[:100], safe='')}"
            async with session.get(path, headers=page, allow_redirects=False) as answer:
                assert answer.status in (302, 303, 307)
                to = urlsplit(answer.headers["Location"])
                assert (to.scheme, to.netloc, to.path) == ("", "", "/login")
                assert not {"\r", "\n"} & set(answer.headers["Location"])
                (wanted,) = parse_qs(to.query)["next"]
                assert wanted.startswith("/")
                assert unquote(urlsplit(wanted).query.removeprefix("since=")) == text[:100]


@pytest.mark.parametrize("kind", ["device_down", "gpu_fault", "nothing", "<script>", "..%2f..%2fetc%2fpasswd"])
async def test_no_hostile_name_is_in_a_runbook(api, kind):
    async with aiohttp.ClientSession(api.url) as session:
        for text in WELL_FORMED:
            asked = {"object": f"device:{text[:400]}"}
            async with session.get(f"/runbooks/{kind}?{urlencode(asked)}") as answer:
                body = await answer.text()
                assert answer.headers["X-Content-Type-Options"] == "nosniff"
                if kind not in set(IncidentKind):
                    assert answer.status in (404, 422)
                    assert answer.content_type == "application/json"
                elif answer.status == 200:
                    assert answer.content_type == "text/plain"
                    filled = set(body.splitlines()) - set(runbook(IncidentKind(kind)).splitlines())
                    assert not filled or re.fullmatch(r"[\w./:@+-]+", text[:400], re.ASCII), text[:400]
                    assert all(text[:400].partition("/")[0] in line for line in filled)
                else:
                    assert answer.status == 422


async def test_the_page_of_the_api_describes_no_other_api(api, browser):
    """Swagger UI would take the address of another description from its own."""
    elsewhere = "https://evil.example/openapi.json"
    page = await new_page(browser)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    names = ("url", "configUrl", "urls.primaryName", "oauth2RedirectUrl")
    await page.goto(f"{api.url}/docs/?{urlencode(dict.fromkeys(names, elsewhere))}")
    await expect(page.locator(".opblock").first).to_be_visible()
    assert [url for url in asked if not url.startswith((api.url, "data:"))] == []
