"""What HTTP clients expect of every route: versions, HEAD, Allow, and one form of errors, whatever goes wrong."""

import aiohttp
import pytest

from fabricscope.api.access.token_store import TokenStore
from fabricscope.api.access.tokens import Scope
from tests.unit.fabricscope.api.traffic import eventually, get, incident
from tests.unit.traffic import publish_incidents

NEVER_NS = 4_000_000_000 * 10**9
LIST = "/api/v1/incidents"


@pytest.fixture
def admin(state_dir):
    """Headers that may do everything."""
    _, secret = TokenStore(state_dir).create("all", [Scope.ADMIN], lasts_s=86_400.0 * 30, now_ns=NEVER_NS)
    return {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}


async def test_what_has_not_changed_is_not_sent_again(api, bus):
    await publish_incidents(bus, incident())
    await eventually(api.url, LIST, len)
    async with aiohttp.ClientSession(api.url) as session:
        async with session.get(LIST) as answer:
            tag = answer.headers["ETag"]
            assert answer.headers["Cache-Control"] == "private, no-cache"
        for known in (tag, f'"other", W/{tag}', "*"):
            async with session.get(LIST, headers={"If-None-Match": known}) as answer:
                assert (answer.status, await answer.read(), answer.headers["ETag"]) == (304, b"", tag)
                assert "Content-Security-Policy" in answer.headers
        async with session.get(LIST, headers={"If-None-Match": '"other"'}) as answer:
            assert (answer.status, answer.headers["ETag"]) == (200, tag)
        await publish_incidents(bus, incident("i2"))
        await eventually(api.url, LIST, lambda body: len(body) == 2)
        async with session.get(LIST, headers={"If-None-Match": tag}) as answer:
            assert (answer.status, len(await answer.json())) == (200, 2)


@pytest.mark.parametrize(
    "path", [LIST, "/-/healthy", "/metrics", "/", "/openapi.json", "/api/v1/stream", "/api/v1/none"]
)
async def test_head_has_the_headers_of_get_and_no_body(api, path):
    async with aiohttp.ClientSession(api.url) as session:
        async with session.get(path) as answer:
            expected = answer.status, answer.headers["Content-Type"]
        for _ in range(2):  # on the same connection: the first one had its end
            async with session.head(path) as answer:
                assert (answer.status, answer.headers["Content-Type"]) == expected
                assert await answer.read() == b""


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", LIST, "GET, HEAD"),
        ("PUT", "/api/v1/changes", "GET, HEAD, POST"),
        ("PATCH", f"{LIST}/i1/members", "GET, HEAD"),
        ("GET", "/-/reload", "POST"),
        ("POST", "/noc.js", "GET, HEAD"),
        ("DELETE", "/login", "GET, HEAD, POST"),
        ("BREW", "/api/v1/replays", "GET, HEAD, POST"),
    ],
)
async def test_another_method_is_answered_with_those_that_are_allowed(api, admin, method, path, allowed):
    async with (
        aiohttp.ClientSession(api.url) as session,
        session.request(method, path, headers=admin, data=b"{}") as answer,
    ):
        assert (answer.status, answer.headers["Allow"]) == (405, allowed)
        body = await answer.json()
        assert (body["errorType"], body["error"]) == ("bad_method", f"{method} {path}: expected {allowed}")


@pytest.mark.parametrize("path", ["/nowhere", "/api/v1/nowhere", "/api/v2/incidents", "/%2e%2e/etc/passwd"])
async def test_an_unknown_path_is_an_error_in_our_form(api, path):
    status, body = await get(api.url, path)
    assert (status, body["status"], body["errorType"]) == (404, "error", "not_found")
    assert body["error"].endswith(": see /docs")


async def test_another_host_is_an_error_in_our_form(api):
    status, body = await get(api.url, LIST, headers={"Host": "rebound.example"})
    assert (status, body) == (
        400,
        {"status": "error", "errorType": "bad_data", "error": "host: expected one of api.allowed_hosts"},
    )


async def test_a_defect_of_ours_is_an_error_in_our_form(api, monkeypatch):
    def fail(*_: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("fabricscope.api.routes.incidents.views.Finding.model_validate", fail)
    monkeypatch.setattr("fabricscope.api.paging.Pager.cut", fail)
    async with aiohttp.ClientSession(api.url) as session, session.get("/api/v1/findings") as answer:
        assert answer.status == 500
        assert "Content-Security-Policy" in answer.headers
        assert await answer.json() == {
            "status": "error",
            "errorType": "internal",
            "error": "it failed, and its log says why",
        }


async def test_a_body_beyond_the_limit_is_an_error_in_our_form(api, admin):
    async with (
        aiohttp.ClientSession(api.url) as session,
        session.post("/api/v1/changes", headers=admin, data=b"x" * (4 * 2**20 + 1)) as answer,
    ):
        assert (answer.status, (await answer.json())["errorType"]) == (413, "bad_data")
