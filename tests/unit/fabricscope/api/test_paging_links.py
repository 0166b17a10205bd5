"""From an incident on the page to its silence, its board and its runbook."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

import pytest
from playwright.async_api import expect

from alerts.addresses import Addresses
from alerts.config import AlertingConfig
from fabricscope.api.config import ApiConfig
from fabricscope.api.paging_links import PagingLinks
from fabricscope.api.service import ApiService
from telemetry.incidents import IncidentState
from telemetry.objects import port
from tests.servers.alertmanager import Alertmanager
from tests.unit.fabricscope.api.noc_browser import open_page
from tests.unit.fabricscope.api.traffic import incident
from tests.unit.traffic import publish_incidents

ALERTMANAGER = {"type": "alertmanager", "url": "http://am:9093/"}


def links(**settings: object) -> PagingLinks:
    return PagingLinks.of(AlertingConfig.model_validate({"cluster": "pod1", **settings}))


def test_the_first_alertmanager_that_people_reach_silences():
    hook = {"type": "webhook", "name": "hook", "url": "http://hook/"}
    secret = {**ALERTMANAGER, "name": "secret", "url": "http://me:pw@am/"}
    found = links(receivers=[hook, secret, ALERTMANAGER]).about(incident())
    assert found.silence == "http://am:9093/#/silences/new?filter=%7Bincident_id%3D%22i1%22%7D"


def test_without_settings_there_is_our_own_runbook_alone():
    found = links().about(incident())
    assert (found.silence, found.board) == ("", "")
    assert found.runbook == "/runbooks/slow_receiver?object=port%3Aleaf1%2FEthernet4"
    long = replace(incident(), root=port("leaf1", "x" * 900))
    assert links().about(long).runbook == "/runbooks/slow_receiver"


def test_boards_and_runbooks_are_those_of_the_pages():
    found = links(grafana_url="http://g", runbook_url="http://wiki/{kind}").about(incident())
    assert found.board.startswith("http://g/d/fabricscope-fabric?from=")
    assert found.board.endswith("&var-cluster=pod1")
    assert found.runbook == "http://wiki/slow_receiver"


@pytest.fixture
async def serve(bus, state_dir) -> AsyncIterator[Callable[[PagingLinks | None], Awaitable[ApiService]]]:
    """Starts an API whose pages lead somewhere."""
    started: list[ApiService] = []

    async def start(paging: PagingLinks | None) -> ApiService:
        service = ApiService(ApiConfig(port=0, state_dir=state_dir), bus, paging=paging)
        started.append(service)
        await service.start()
        return service

    yield start
    for service in started:
        await service.stop()


async def test_a_silence_is_one_click_away_with_the_incident_filled_in(serve, bus, browser, alertmanager: Alertmanager):
    paging = PagingLinks(Addresses(alertmanager_url=alertmanager.url, grafana_url="http://g"), "pod1")
    api = await serve(paging)
    await publish_incidents(bus, incident("i1"))
    page, problems = await open_page(browser, api.url)
    links = page.locator("#paging")
    await expect(links).to_contain_text("Acknowledge where it paged: who is on it is not known here")
    await expect(links.locator("a")).to_have_text(["Silence in Alertmanager ↗", "Board ↗", "Runbook ↗"])
    async with page.expect_popup() as opened:
        await links.get_by_text("Silence").press("Enter")
    form = await opened.value
    assert form.url == f"{alertmanager.url}/#/silences/new?filter=%7Bincident_id%3D%22i1%22%7D"
    await expect(form.locator("h1")).to_have_text("Alertmanager")  # Debian's has no form to fill in
    assert await form.evaluate("opener") is None
    assert problems == []


async def test_without_an_alertmanager_there_is_no_dead_button(serve, bus, browser):
    api = await serve(None)
    await publish_incidents(bus, incident())
    page, problems = await open_page(browser, api.url)
    await expect(page.locator("#paging")).to_contain_text("Silence: where it paged, as no Alertmanager is set up here")
    await expect(page.locator("#paging a")).to_have_text(["Runbook ↗"])
    async with page.expect_popup() as opened:
        await page.locator("#paging a").click()
    await expect((await opened.value).locator("body")).to_contain_text("leaf1/Ethernet4")
    await publish_incidents(bus, incident(state=IncidentState.RESOLVED))
    await expect(page.locator("#paging")).to_have_text("Runbook ↗")
    assert problems == []
