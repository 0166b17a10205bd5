"""Sessions of browsers at the API: who gets one, what it allows, and when it ends."""

import re
import time
from collections.abc import AsyncIterator, Mapping
from http.cookies import SimpleCookie

import aiohttp
import pytest
from yarl import URL

from bus.base import Message
from fabricscope.api.access.guard import BAD_TOKENS_PER_MINUTE
from fabricscope.api.access.token_store import TokenStore
from fabricscope.api.access.tokens import Scope
from fabricscope.api.config import ApiConfig
from fabricscope.api.service import ApiService
from telemetry import topics
from telemetry.codec.records import encode_record
from telemetry.ledger import StageReport
from tests.unit.fabricscope.api.test_guard import PATH, WORK, audited, create
from tests.unit.fabricscope.api.traffic import eventually, get

OWN = {"Sec-Fetch-Site": "same-origin"}
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture
async def closed(bus, replace, state_dir) -> ApiService:
    """On loopback, and reading needs a token."""
    service: ApiService = await replace(ApiService(ApiConfig(port=0, state_dir=state_dir, token_for_reading=True), bus))
    return service


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    """Keeps no cookie by itself."""
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
        yield session


async def log_in(client: aiohttp.ClientSession, url: str, secret: str, **headers: str) -> SimpleCookie:
    """The cookies of a new session."""
    given = {"Authorization": f"Bearer {secret}"} | headers
    async with client.post(f"{url}/login", json={}, headers=given) as answer:
        assert answer.status == 204
        return answer.cookies


def cookie_of(cookies: SimpleCookie) -> dict[str, str]:
    """The header that a browser sends."""
    return {"Cookie": "; ".join(f"{name}={morsel.value}" for name, morsel in cookies.items())}


async def status(client: aiohttp.ClientSession, url: str, headers: Mapping[str, str], method: str = "GET") -> int:
    body = {} if method == "GET" else {"json": WORK}
    async with client.request(method, url, headers=headers, allow_redirects=False, **body) as answer:  # type: ignore[arg-type]
        return answer.status


async def test_a_token_opens_a_session_that_no_script_reads_and_no_other_site_sends(closed, client, state_dir):
    cookies = await log_in(client, closed.url, create(state_dir, Scope.READ, lasts_s=7200.0))
    session, name = cookies["fabricscope"], cookies["fabricscope_name"]
    assert (session["httponly"], session["samesite"], session["path"], session["domain"]) == (True, "lax", "/", "")
    assert not session["secure"]
    assert 7100 < int(session["max-age"]) <= 7200, "not longer than the token"
    assert len(session.value) >= 43
    assert (name.value, name["httponly"]) == ("ci", "")
    for path in ("/", "/noc.js", "/api/v1/incidents", "/metrics"):
        assert await status(client, closed.url + path, cookie_of(cookies)) == 200
    other = await log_in(client, closed.url, create(state_dir, Scope.READ))
    assert other["fabricscope"].value != session.value
    assert int(other["fabricscope"]["max-age"]) == 43_200


async def test_where_a_proxy_ends_tls_the_cookie_is_for_tls_alone(closed, client, state_dir):
    cookies = await log_in(client, closed.url, create(state_dir, Scope.READ), Origin="https://noc.example")
    assert cookies["__Host-fabricscope"]["secure"]
    assert "fabricscope" not in cookies
    assert await status(client, f"{closed.url}/", cookie_of(cookies)) == 200


@pytest.mark.parametrize(
    ("path", "there"),
    [
        ("/", "%2F"),
        ("/a%20b?x=1&y=//z", "%2Fa%2520b%3Fx%3D1%26y%3D%2F%2Fz"),
        ("//evil.example/", "%2F%2Fevil.example%2F"),
    ],
)
async def test_a_browser_without_a_session_is_led_to_the_login_and_a_program_is_not(closed, client, path, there):
    url = URL(closed.url + path, encoded=True)
    async with client.get(url, headers=BROWSER, allow_redirects=False) as answer:
        assert (answer.status, answer.headers["Location"]) == (303, f"/login?next={there}")
        assert answer.headers["Cache-Control"] == "no-store"
    async with client.get(url, allow_redirects=False) as answer:
        assert (answer.status, (await answer.json())["errorType"]) == (401, "unauthorized")
    assert await status(client, closed.url + PATH, BROWSER, "POST") == 401


async def test_the_form_is_open_and_who_cannot_read_gets_no_session(closed, client, state_dir):
    async with client.get(f"{closed.url}/login?next=/x", headers=BROWSER) as answer:
        assert answer.status == 200
        assert 'type="password"' in await answer.text()
    for secret, expected in ((create(state_dir, Scope.ACK), 403), ("wrong", 401)):
        async with client.post(f"{closed.url}/login", json={}, headers={"Authorization": f"Bearer {secret}"}) as answer:
            assert answer.status == expected
            assert not answer.cookies
            assert (await answer.json())["status"] == "error"
    assert await status(client, f"{closed.url}/login", {}, "POST") == 401


async def test_guessing_at_the_login_is_limited_and_all_else_is_audited(closed, client, state_dir):
    wrong = {"Authorization": "Bearer wrong"}
    found = [await status(client, f"{closed.url}/login", wrong, "POST") for _ in range(BAD_TOKENS_PER_MINUTE + 1)]
    assert found == [401] * BAD_TOKENS_PER_MINUTE + [429]
    await status(client, f"{closed.url}/login", {"Authorization": f"Bearer {create(state_dir, Scope.ACK)}"}, "POST")
    cookies = await log_in(client, closed.url, create(state_dir, Scope.READ))
    assert await status(client, f"{closed.url}/logout", cookie_of(cookies) | OWN, "POST") == 204
    assert audited(state_dir) == [
        ("ci", "POST /login", "403"),
        ("ci", "POST /login", "204"),
        ("ci", "POST /logout", "204"),
    ]


@pytest.mark.parametrize(("scopes", "expected"), [((Scope.READ,), 403), ((Scope.READ, Scope.ACK), 201)])
async def test_a_session_may_do_what_its_token_may(closed, client, state_dir, scopes, expected):
    cookie = cookie_of(await log_in(client, closed.url, create(state_dir, *scopes)))
    assert await status(client, closed.url + PATH, cookie | OWN, "POST") == expected
    assert audited(state_dir)[-1] == ("ci", f"POST {PATH}", str(expected))


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, 201),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "OWN"}, 403),
        ({"Origin": "OWN"}, 201),
        ({"Origin": "http://127.0.0.1:3000"}, 403),
        ({"Origin": "null"}, 403),
        ({}, 403),
    ],
)
async def test_a_page_of_another_origin_changes_nothing_with_a_session(closed, client, state_dir, headers, expected):
    secret = create(state_dir, Scope.READ, Scope.ACK)
    cookie = cookie_of(await log_in(client, closed.url, secret))
    headers = {name: closed.url if value == "OWN" else value for name, value in headers.items()}
    assert await status(client, closed.url + PATH, cookie | headers, "POST") == expected
    bearer = {"Authorization": f"Bearer {secret}"}
    assert await status(client, closed.url + PATH, bearer | headers, "POST") == 201, "a token is no cookie"


async def test_a_session_does_not_prolong_itself(closed, client, state_dir):
    cookie = cookie_of(await log_in(client, closed.url, create(state_dir, Scope.READ)))
    assert await status(client, f"{closed.url}/login", cookie | OWN, "POST") == 403


async def test_it_ends_with_its_token_with_the_store_and_by_logging_out(closed, client, state_dir):
    store = TokenStore(state_dir)
    for name in ("revoked", "shortened", "moved", "left"):
        cookie = cookie_of(await log_in(client, closed.url, create(state_dir, Scope.READ, name=name)))
        assert await status(client, f"{closed.url}/", cookie) == 200
        if name == "revoked":
            store.revoke(name)
        elif name == "shortened":
            file = state_dir / "tokens.json"
            file.write_text(re.sub(r'"expires_ns": ?\d+', '"expires_ns": 1', file.read_text()))
        elif name == "moved":
            (state_dir / "tokens.json").rename(state_dir / "tokens.old")
        else:
            assert await status(client, f"{closed.url}/logout", cookie | OWN, "POST") == 204
        assert await status(client, f"{closed.url}/", cookie) == 401
        assert await status(client, f"{closed.url}/", cookie | BROWSER) == 303


async def test_logging_out_takes_all_cookies(closed, client, state_dir):
    cookies = await log_in(client, closed.url, create(state_dir, Scope.READ))
    async with client.post(f"{closed.url}/logout", json={}, headers=cookie_of(cookies) | OWN) as answer:
        gone = answer.cookies
    assert {name: morsel["max-age"] for name, morsel in gone.items()} == dict.fromkeys(
        ("fabricscope", "__Host-fabricscope", "fabricscope_name"), "0"
    )


async def test_it_goes_on_after_a_restart(bus, closed, replace, client, state_dir):
    cookie = cookie_of(await log_in(client, closed.url, create(state_dir, Scope.READ)))
    again = await replace(ApiService(ApiConfig(port=0, state_dir=state_dir, token_for_reading=True), bus))
    assert await status(client, f"{again.url}/", cookie) == 200


async def test_with_the_token_of_the_settings_it_ends_when_that_is_another(bus, replace, client, tmp_path, state_dir):
    file = tmp_path / "token"
    config = ApiConfig(port=0, state_dir=state_dir, bearer_token_file=file)
    file.write_text("s3cret")
    service = await replace(ApiService(config, bus))
    cookie = cookie_of(await log_in(client, service.url, "s3cret"))
    assert await status(client, f"{service.url}/", cookie) == 200
    file.write_text("another")
    service = await replace(ApiService(config, bus))
    assert await status(client, f"{service.url}/", cookie) == 401


async def test_the_event_stream_takes_the_cookie_and_ends_with_the_token(closed, client, state_dir, monkeypatch):
    monkeypatch.setattr("fabricscope.api.routes.stream.UNCHANGED_S", 0.01)
    monkeypatch.setattr("fabricscope.api.routes.stream.PERIOD_S", 0.01)
    cookie = cookie_of(await log_in(client, closed.url, create(state_dir, Scope.READ)))
    async with client.get(f"{closed.url}/api/v1/stream", headers=cookie) as answer:
        assert (answer.status, answer.content_type) == (200, "text/event-stream")
        assert await answer.content.readuntil(b"event: picture\r\n")
        TokenStore(state_dir).revoke("ci")
        await answer.read()  # up to its end


async def test_a_basic_password_of_a_proxy_stands_in_no_session_s_way(closed, client, state_dir):
    cookie = cookie_of(await log_in(client, closed.url, create(state_dir, Scope.READ)))
    assert await status(client, f"{closed.url}/", cookie | {"Authorization": "Basic Y2k6cHc="}) == 200
    assert await status(client, f"{closed.url}/", cookie | {"Authorization": "Bearer wrong"}) == 401


async def test_a_probe_needs_no_token_and_learns_no_name(closed, bus, state_dir):
    async def report(problem: str, dropped: int) -> None:
        drops = {"quarantine": dropped}
        found = StageReport(
            "ingest", "pod1-ingest", 1, time.time_ns(), 100, 100 - dropped, dropped=drops, problem=problem
        )
        await bus.publish(topics.LEDGER, [Message(b"ingest", encode_record(found))])

    headers = {"Authorization": f"Bearer {create(state_dir, Scope.READ)}"}
    assert await get(closed.url, "/-/healthy") == (200, "Fabricscope is healthy.\n")
    await report("the disk of host7 is full", 0)
    known = await eventually(closed.url, "/-/ready", lambda body: "host7" in body, headers=headers)
    assert known.splitlines()[-1] == "ingest pod1-ingest: the disk of host7 is full"
    status, text = await get(closed.url, "/-/ready")
    assert (status, text.splitlines()) == (
        200,
        [
            "Fabricscope is ready.",
            "no data: no target has been collected yet",
            "problems of processes: 1; a token with the scope read sees more",
        ],
    )
    await report("", 60)
    known = await eventually(closed.url, "/-/ready", lambda body: isinstance(body, dict), headers=headers)
    assert "quarantine" in known["error"]
    status, body = await get(closed.url, "/-/ready")
    assert (status, body["error"]) == (503, "not ready; a token with the scope read sees more")
