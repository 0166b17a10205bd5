"""Logging in with a real browser, and what pages elsewhere can do with a session."""

import asyncio
import re
import urllib.parse

import pytest
from playwright.async_api import Page, expect

from fabricscope.api.access.guard import BAD_TOKENS_PER_MINUTE
from fabricscope.api.access.token_store import TokenStore
from fabricscope.api.access.tokens import Scope
from fabricscope.api.config import ApiConfig
from fabricscope.api.service import ApiService
from tests.servers.chromium import new_page
from tests.servers.webhook import Answer
from tests.unit.fabricscope.api.noc_browser import poor_contrasts
from tests.unit.fabricscope.api.test_guard import PATH, ask, audited, create
from tests.unit.fabricscope.api.traffic import incident, publish_cluster
from tests.unit.traffic import publish_incidents
from tests.waiting import DEADLINE_S


@pytest.fixture
async def closed(bus, replace, state_dir) -> ApiService:
    """On loopback, and reading needs a token."""
    service: ApiService = await replace(ApiService(ApiConfig(port=0, state_dir=state_dir, token_for_reading=True), bus))
    return service


async def log_in(page: Page, secret: str) -> None:
    await page.get_by_label("Token").fill(secret)
    await page.get_by_role("button", name="Log in").click()


async def test_a_person_logs_in_sees_the_incident_that_a_link_led_to_and_logs_out(closed, bus, browser, state_dir):
    await publish_cluster(bus)
    await publish_incidents(bus, incident())
    page = await new_page(browser)
    link = f"{closed.url}/?since=1#i1"
    await page.goto(link)
    await expect(page).to_have_title("Log in – Fabricscope")
    assert await poor_contrasts(page) == []

    for secret, words in (
        ("wrong", "This token is not known here, or it has expired."),
        ("wröng", "This token is not known here, or it has expired."),
        (create(state_dir, Scope.ACK, name="robot"), "This token may not read: it lacks the scope read."),
    ):
        await log_in(page, secret)
        await expect(page.get_by_role("alert")).to_have_text(words)

    await log_in(page, f" {create(state_dir, Scope.READ, name='ops')} ")
    await expect(page).to_have_url(link)
    await expect(page.locator("#verdict")).to_have_text("1 firing, 0 pending")
    await expect(page.locator("#plots canvas")).to_have_count(1)
    assert await page.evaluate("document.cookie") == "fabricscope_name=ops", "no script reads the session"

    await expect(page.locator("#who")).to_have_text("ops")
    await page.get_by_role("button", name="Log out").click()
    await expect(page).to_have_url(f"{closed.url}/login")
    assert await page.context.cookies() == []
    await page.goto(closed.url)
    await expect(page).to_have_url(f"{closed.url}/login?next=%2F")


async def test_who_guesses_is_asked_to_wait(closed, browser):
    for _ in range(BAD_TOKENS_PER_MINUTE):
        await ask(closed.url, "guess")
    page = await new_page(browser)
    await page.goto(closed.url)
    await log_in(page, "guess")
    await expect(page.get_by_role("alert")).to_have_text(re.compile(r"^Too many attempts\. Try again in \d+ s\.$"))


async def test_where_everybody_may_read_nothing_speaks_of_a_session(api, browser):
    page = await new_page(browser)
    await page.goto(api.url)
    await expect(page.locator("#verdict")).to_have_text("State unknown")
    await expect(page.locator("#session")).to_be_hidden()


@pytest.mark.parametrize(
    "wanted",
    [
        "//evil.example/",
        "https://evil.example/",
        "/\\evil.example",
        "/\t/evil.example",
        "javascript:alert(1)",
        "http://",
    ],
)
async def test_the_login_leads_to_no_other_site(closed, browser, state_dir, wanted):
    page = await new_page(browser)
    await page.goto(f"{closed.url}/login?{urllib.parse.urlencode({'next': wanted})}")
    await log_in(page, create(state_dir, Scope.READ))
    await expect(page).to_have_url(f"{closed.url}/")


async def test_a_page_whose_token_is_revoked_leads_to_the_login(closed, browser, state_dir, monkeypatch):
    monkeypatch.setattr("fabricscope.api.routes.stream.UNCHANGED_S", 0.01)
    page = await new_page(browser)
    await page.goto(closed.url)
    await log_in(page, create(state_dir, Scope.READ))
    await expect(page.locator("#verdict")).to_have_text("State unknown")
    TokenStore(state_dir).revoke("ci")
    await expect(page).to_have_url(f"{closed.url}/login?next=%2F")


async def test_a_link_of_a_chat_finds_the_person_logged_in(closed, browser, state_dir):
    page = await new_page(browser)
    await page.goto(closed.url)
    await log_in(page, create(state_dir, Scope.READ))
    await expect(page.locator("#who")).to_have_text("ci")
    chat, link = "http://chat.example/", f"<a href='{closed.url}'>incident</a>"
    await page.route(chat, lambda route: route.fulfill(body=link, content_type="text/html"))
    await page.goto(chat)
    await page.get_by_role("link").click()
    await expect(page).to_have_url(f"{closed.url}/")


async def test_a_page_of_another_port_changes_nothing(closed, browser, webhook_server, state_dir):
    page = await new_page(browser)
    await page.goto(closed.url)
    await log_in(page, create(state_dir, Scope.READ, Scope.ACK))
    await expect(page.locator("#who")).to_have_text("ci")
    webhook_server.script.append(Answer(headers=(("Content-Type", "text/html"),), body=b"of another program"))
    await page.goto(webhook_server.base_url)
    send = "([url, body]) => fetch(url, {method: 'POST', body, mode: 'no-cors', credentials: 'include'}).then(() => 1)"
    assert await page.evaluate(send, [closed.url + PATH, '{"kind": "drain", "objects": ["device:node1"]}']) == 1
    assert audited(state_dir)[-1] == ("ci", f"POST {PATH}", "403"), "the browser has sent the cookie along"


async def test_over_tls_the_browser_keeps_the_cookie_for_tls(bus, replace, browser, certificates, state_dir):
    files = {"tls_cert_file": certificates.certificate("server"), "tls_key_file": certificates.key("server")}
    service = await replace(ApiService(ApiConfig(port=0, state_dir=state_dir, token_for_reading=True, **files), bus))
    page = await new_page(browser, ignore_https_errors=True)
    await page.goto(service.url)
    await log_in(page, create(state_dir, Scope.READ))
    await expect(page.locator("#verdict")).to_have_text("State unknown")
    (kept,) = [one for one in await page.context.cookies() if one["name"] == "__Host-fabricscope"]
    assert (kept["secure"], kept["httpOnly"], kept["sameSite"]) == (True, True, "Lax")


async def test_a_page_whose_stream_was_refused_tries_again(bus, replace, browser, state_dir):
    service = await replace(ApiService(ApiConfig(port=0, state_dir=state_dir, client_streams_max=1), bus))
    first, second = await new_page(browser), await new_page(browser)
    await first.goto(service.url)
    await expect(first.locator("#missing-data")).to_contain_text("no data")
    await second.clock.install()
    await second.goto(service.url)
    missing = second.locator("#missing-data")
    await expect(missing).to_have_text("No connection to Fabricscope. Reconnecting…")
    await first.close()
    async with asyncio.timeout(DEADLINE_S):
        while "no data" not in (await missing.text_content() or ""):
            await second.clock.run_for(10_000)
