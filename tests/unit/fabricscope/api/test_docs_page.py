"""The page that documents the API, in a real browser: it speaks to nobody else, and changes nothing."""

import aiohttp
import pytest
from playwright.async_api import Browser, Page, expect

from dashboards.noc import STATIC
from tests.servers.chromium import new_page
from tests.unit.fabricscope.api.test_browser_safety import inline
from tests.unit.fabricscope.api.traffic import eventually, get, incident
from tests.unit.traffic import publish_incidents

LIST = "#operations-incidents-list_incidents_api_v1_incidents_get"
EVERYWHERE = "default-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
ANNOUNCE = "#operations-changes-add_change_api_v1_changes_post"


async def open_docs(browser: Browser, url: str) -> tuple[Page, list[str]]:
    """The page and what went wrong on it: console errors, external requests."""
    page = await new_page(browser, viewport={"width": 1400, "height": 1000})
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith(url) else problems.append(request.url))
    await page.goto(f"{url}/docs")
    return page, problems


async def test_it_shows_every_route_and_tries_what_reads(api, bus, browser):
    await publish_incidents(bus, incident())
    await eventually(api.url, "/api/v1/incidents", len)
    _, described = await get(api.url, "/openapi.json")
    page, problems = await open_docs(browser, api.url)
    await expect(page.locator(".opblock")).to_have_count(sum(map(len, described["paths"].values())))
    await page.locator(f"{LIST} .opblock-summary-control").click()
    await page.locator(f"{LIST} .try-out__btn").click()
    await page.locator(f"{LIST} .execute").click()
    await expect(page.locator(f"{LIST} .live-responses-table")).to_contain_text("PFC storm from leaf1/Ethernet4")
    assert problems == []


async def test_it_offers_no_request_that_changes_something(api, browser):
    page, problems = await open_docs(browser, api.url)
    await page.locator(f"{ANNOUNCE} .opblock-summary-control").click()
    await expect(page.locator(f"{ANNOUNCE} .responses-wrapper")).to_contain_text("maintenance")
    await expect(page.locator(f"{ANNOUNCE} .try-out__btn")).to_have_count(0)
    assert problems == []


@pytest.mark.parametrize(
    ("path", "policy"),
    [
        ("/docs/", f"{EVERYWHERE}; img-src 'self' data:"),
        ("/docs/docs.js", f"{EVERYWHERE}; img-src 'self' data:"),
        ("/vendor/swagger_ui/swagger-ui-bundle.js", EVERYWHERE),
    ],
)
async def test_what_it_consists_of_comes_from_here(api, path, policy):
    async with aiohttp.ClientSession(api.url) as session, session.get(path) as answer:
        assert (answer.status, answer.headers["Content-Security-Policy"]) == (200, policy)


def test_it_has_no_code_in_line_and_its_library_its_licence():
    assert inline((STATIC / "docs" / "index.html").read_text()) == []
    assert "Apache License" in (STATIC / "vendor" / "swagger_ui" / "LICENSE").read_text()
