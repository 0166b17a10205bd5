"""Who is let in by the API, asked over real sockets."""

import ast
import asyncio
import json
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from fastapi import FastAPI
from starlette.routing import Mount
from structlog.testing import capture_logs

from bus.base import Bus
from dashboards.noc import STATIC
from fabricscope.api.access.audit import AuditLog
from fabricscope.api.access.credentials import Credentials
from fabricscope.api.access.guard import BAD_TOKENS_PER_MINUTE, CHANGES, OPEN, READING, Guard, needed_scope
from fabricscope.api.access.sessions import Sessions
from fabricscope.api.access.token_store import TokenStore
from fabricscope.api.access.tokens import Scope
from fabricscope.api.app import create_app
from fabricscope.api.config import ApiConfig
from fabricscope.api.history import History
from fabricscope.api.read_model import ReadModel
from fabricscope.api.service import ApiService
from tests.unit.fabricscope.api.traffic import bearer, get

PATH = "/api/v1/changes"
WORK = {"kind": "drain", "objects": ["device:node1"]}
DAY_S = 86_400.0
API = Path(__file__).parents[4] / "fabricscope" / "api"
Answer = tuple[int, dict[str, Any], dict[str, str]]


async def ask(
    url: str, secret: str | None = None, method: str = "POST", path: str = PATH, via: str | None = None
) -> Answer:
    """Status, body and headers of a change or of another request. via: what a proxy would say of the client."""
    headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
    headers |= {} if via is None else {"X-Forwarded-For": via}
    body = {"json": WORK} if method == "POST" else {}
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, url + path, headers=headers, **body) as answer,  # type: ignore[arg-type]
    ):
        is_json = "json" in answer.headers.get("content-type", "")
        return answer.status, await answer.json() if is_json else {}, dict(answer.headers)


def create(state_dir: Path, *scopes: Scope, name: str = "ci", lasts_s: float = DAY_S) -> str:
    return TokenStore(state_dir).create(name, scopes, lasts_s=lasts_s, now_ns=time.time_ns())[1]


def audited(state_dir: Path) -> list[tuple[str, ...]]:
    lines = AuditLog(state_dir).file.read_text().splitlines()
    return [tuple(json.loads(line)[key] for key in ("who", "action", "result")) for line in lines]


async def test_on_loopback_reading_is_open_and_a_change_needs_a_token(api, state_dir):
    assert (await get(api.url, PATH))[0] == 200
    status, body, headers = await ask(api.url)
    assert (status, body) == (401, {"status": "error", "errorType": "unauthorized", "error": "unauthorized"})
    assert headers["WWW-Authenticate"] == "Bearer"
    secret = bearer(state_dir)["Authorization"].removeprefix("Bearer ")
    assert (await ask(api.url, secret))[0] == 201


@pytest.mark.parametrize(
    ("scopes", "status"),
    [((Scope.READ,), 403), ((Scope.REPLAY,), 403), ((Scope.ACK,), 201), ((Scope.ADMIN,), 201)],
)
async def test_a_change_needs_the_scope_ack(api, state_dir, scopes, status):
    found, body, _ = await ask(api.url, create(state_dir, *scopes))
    assert found == status
    if status == 403:
        assert body == {"status": "error", "errorType": "forbidden", "error": "forbidden"}


async def test_a_token_works_from_its_creation_to_its_end_without_a_restart(api, state_dir):
    first, second = create(state_dir, Scope.ACK), create(state_dir, Scope.ACK)
    assert [(await ask(api.url, secret))[0] for secret in (first, second)] == [201, 201]
    older, newer = (token for token in TokenStore(state_dir).load() if token.name == "ci")
    TokenStore(state_dir).revoke(older.id)
    assert [(await ask(api.url, secret))[0] for secret in (first, second)] == [401, 201]
    TokenStore(state_dir).revoke(newer.id)
    assert (await ask(api.url, second))[0] == 401


async def test_an_expired_token_is_none(api, state_dir):
    _, secret = TokenStore(state_dir).create("ci", [Scope.ADMIN], lasts_s=1.0, now_ns=time.time_ns() - 2_000_000_000)
    assert (await ask(api.url, secret))[0] == 401


async def test_after_ten_bad_tokens_a_minute_guessing_is_refused_and_good_ones_are_not(api, state_dir):
    good = create(state_dir, Scope.ACK)
    found = [(await ask(api.url, f"guess{n}"))[0] for n in range(BAD_TOKENS_PER_MINUTE)]
    assert found == [401] * BAD_TOKENS_PER_MINUTE
    status, body, headers = await ask(api.url, "guess")
    assert (status, body["errorType"]) == (429, "too_many")
    assert 1 <= int(headers["Retry-After"]) <= 60
    assert (await ask(api.url, good))[0] == 201, "nobody locks others out by guessing"
    assert (await get(api.url, "/-/healthy"))[0] == 200


async def test_nobody_chooses_the_address_that_counts(api, state_dir):
    found = [(await ask(api.url, "guess", via=f"10.0.0.{n}"))[0] for n in range(BAD_TOKENS_PER_MINUTE + 1)]
    assert found == [401] * BAD_TOKENS_PER_MINUTE + [429]
    await ask(api.url, create(state_dir, Scope.ACK), via="10.0.0.1")
    assert json.loads(AuditLog(state_dir).file.read_text())["address"] == "127.0.0.1"


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ", "Basic Y2k6cHc=", "bearer", "Bearer é", "Token x", "Bearer " + "x" * 8000]
)
async def test_what_is_no_token_is_none(api, header):
    given = {"Authorization": header}
    async with aiohttp.ClientSession() as session, session.post(api.url + PATH, json=WORK, headers=given) as answer:
        assert answer.status == 401


@pytest.fixture
async def closed(bus, replace, state_dir) -> ApiService:
    """On loopback, and reading needs a token as well."""
    service: ApiService = await replace(
        ApiService(ApiConfig(port=0, state_dir=state_dir, token_for_reading=True, changes_per_minute=3), bus)
    )
    return service


@pytest.mark.parametrize("path", ["/", "/api/v1/incidents", "/api/v1/stream", "/openapi.json", "/metrics", "/noc.js"])
async def test_where_reading_needs_a_token_every_page_does(closed, state_dir, path):
    assert (await get(closed.url, path))[0] == 401
    for scope, status in ((Scope.ACK, 403), (Scope.READ, 200)):
        headers = {"Authorization": f"Bearer {create(state_dir, scope, name=scope)}"}
        async with aiohttp.ClientSession() as session, session.get(closed.url + path, headers=headers) as answer:
            assert answer.status == status


async def test_a_token_may_change_so_often_a_minute_and_others_go_on(closed, state_dir):
    robot, person = create(state_dir, Scope.ACK, name="robot"), create(state_dir, Scope.ACK, name="person")
    assert [(await ask(closed.url, robot))[0] for _ in range(5)] == [201, 201, 201, 429, 429]
    status, _, headers = await ask(closed.url, create(state_dir, Scope.ACK, name="robot"))
    assert (status, 1 <= int(headers["Retry-After"]) <= 60) == (429, True), "a second token is the same robot"
    assert (await ask(closed.url, person))[0] == 201


async def test_every_change_by_a_known_token_is_audited_with_its_result(api, state_dir):
    await ask(api.url)
    await ask(api.url, "guess")
    await ask(api.url, create(state_dir, Scope.READ, name="dashboard"))
    await ask(api.url, create(state_dir, Scope.ACK, name="robot"))
    await ask(api.url, create(state_dir, Scope.ADMIN, name="root"), path="/api/v1/elsewhere")
    assert audited(state_dir) == [
        ("dashboard", f"POST {PATH}", "403"),
        ("robot", f"POST {PATH}", "201"),
        ("root", "POST /api/v1/elsewhere", "405"),
    ]
    line = json.loads(AuditLog(state_dir).file.read_text().splitlines()[1])
    assert line["change"].startswith("drain of device:node1 at ")
    assert (line["address"], line["author"]) == ("127.0.0.1", "")


async def test_without_an_audit_log_nothing_is_changed(api, bus, state_dir):
    (state_dir / "audit.jsonl").mkdir()
    status, body, _ = await ask(api.url, create(state_dir, Scope.ACK))
    assert (status, body["error"]) == (503, "the audit log cannot be written")
    assert (await get(api.url, PATH))[1] == []


async def test_damaged_tokens_let_nobody_in_and_leave_reading_open(api, state_dir):
    secret = create(state_dir, Scope.ACK)
    (state_dir / "tokens.json").write_text("{")
    assert (await ask(api.url, secret))[0] == 401
    assert (await get(api.url, PATH))[0] == 200


def routes(of: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Each method and path of the application; its files apart, which can only be read."""
    for route in of:
        if hasattr(route, "original_router"):  # as FastAPI includes a router
            yield from routes(route.original_router.routes)
        elif not isinstance(route, Mount):
            yield from ((method, route.path) for method in route.methods)


def application(bus: Bus, state_dir: Path) -> FastAPI:
    config, sessions = ApiConfig(state_dir=state_dir), Sessions(state_dir)
    guard = Guard(config, Credentials(config, TokenStore(state_dir), sessions), AuditLog(state_dir))
    return create_app(config, ReadModel(History(1, 1)), bus, time.time_ns, guard, sessions)


def test_every_route_that_changes_something_lists_its_scope(bus: Bus, state_dir):
    found = set(routes(application(bus, state_dir).routes))
    assert len(found) > 15
    assert {route for route in found if route[0] not in READING} == set(CHANGES)


async def test_every_route_and_every_file_is_closed_but_for_the_open_ones(bus: Bus, closed, state_dir):
    found = routes(application(bus, state_dir).routes)
    paths = {re.sub(r"[{}]|:path", "", path) for _, path in found}
    files = {f"/{file.relative_to(STATIC)}" for file in STATIC.rglob("*") if file.is_file()}
    assert len(paths) > 15
    assert {"/noc.js", "/vendor/uplot/uPlot.min.css"} < files
    statuses = {path: (await ask(closed.url, method="GET", path=path))[0] for path in paths | files | {"/", "/none"}}
    assert {path: status for path, status in statuses.items() if status != 401} == dict.fromkeys(OPEN, 200)


def url_uses(source: str) -> list[str]:
    """Where code reads what a client says about the address of its request."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr in ("url", "base_url", "url_for"):
            found.append(node.attr)
        if isinstance(node, ast.Call | ast.Subscript) and "headers" in ast.unparse(node):
            names = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant)]
            found += [str(name) for name in names if str(name).lower() in ("host", "x-forwarded-host", "forwarded")]
    return found


def test_nothing_is_decided_by_the_url_or_the_host_of_a_request():
    """CVE-2026-48710: a forged Host makes ``request.url`` name another path than the one that is served."""
    assert url_uses("if request.url.path == '/': pass") == ["url"]
    assert url_uses("request.headers.get('Host')") == ["Host"]
    assert url_uses("request.headers['x-forwarded-host']") == ["x-forwarded-host"]
    files = [*API.glob("access/*.py"), *API.glob("routes/*.py"), API / "app.py", API / "form.py", API / "paging.py"]
    assert len(files) > 15
    found = {file.name: url_uses(file.read_text()) for file in files if url_uses(file.read_text())}
    assert found == {"same_origin.py": ["host"]}, "a browser's, which it compares with another header of the browser"


@pytest.mark.parametrize("host", ["evil.example", "evil.example/api/v1/targets?x=", "127.0.0.1:1@evil.example"])
async def test_a_forged_host_opens_nothing(api, state_dir, host):
    headers = {"Host": host, "Authorization": f"Bearer {create(state_dir, Scope.READ)}"}
    async with aiohttp.ClientSession() as session, session.post(api.url + PATH, json=WORK, headers=headers) as answer:
        assert answer.status in (400, 403)
    assert (await get(api.url, PATH))[1] == []


@pytest.mark.parametrize(
    ("method", "path", "scope"),
    [
        ("GET", PATH, Scope.READ),
        ("HEAD", "/", Scope.READ),
        ("POST", PATH, Scope.ACK),
        ("POST", "/api/v1/replays", Scope.REPLAY),
        ("POST", "/-/reload", Scope.ADMIN),
        ("POST", PATH + "/", Scope.ADMIN),
        ("POST", "/" + PATH, Scope.ADMIN),
        ("DELETE", PATH, Scope.ADMIN),
        ("BREW", "/pot", Scope.ADMIN),
    ],
)
def test_what_is_not_listed_needs_everything(method, path, scope):
    assert needed_scope(method, path) is scope


async def test_the_hint_of_the_old_setting_stands_in_the_log(bus, tmp_path, state_dir):
    (tmp_path / "token").write_text("s3cret\n")
    service = ApiService(ApiConfig(port=0, state_dir=state_dir, bearer_token_file=tmp_path / "token"), bus)
    with capture_logs() as logged:
        await service.start()
    try:
        (hint,) = [line for line in logged if line["log_level"] == "warning"]
        assert hint["instead"] == "fabricscope token create"
        assert (await ask(service.url, "s3cret"))[0] == 201
        assert audited(state_dir) == [("bearer_token_file", f"POST {PATH}", "201")]
    finally:
        await service.stop()


async def test_many_changes_at_once_are_counted_one_by_one(closed, state_dir):
    secret = create(state_dir, Scope.ACK)
    answers = await asyncio.gather(*(ask(closed.url, secret) for _ in range(20)))
    assert sorted(status for status, _, _ in answers) == [201] * 3 + [429] * 17
    assert len(audited(state_dir)) == 3
