"""What docs/security.md shows works as it stands there: with a real Prometheus, and behind a real nginx."""

import asyncio
import json
import re
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
import yaml
from aiohttp import web

from common.tls import TlsConfig, client_context
from fabricscope.api.access.audit import AuditLog
from fabricscope.api.access.tokens import Scope
from fabricscope.api.config import ApiConfig
from fabricscope.api.service import ApiService
from tests.servers.certificates import Certificates
from tests.servers.nginx import NginxStarter
from tests.servers.process import free_port
from tests.servers.prometheus import Prometheus
from tests.unit.fabricscope.api.test_guard import PATH, WORK, create
from tests.waiting import DEADLINE_S

PAGE = (Path(__file__).parents[4] / "docs" / "security.md").read_text()
LOGGED_IN = {"Cookie": "_oauth2_proxy=carol"}


def shown(language: str, of: str) -> str:
    """The block of the page with this text in it."""
    blocks: list[str] = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    (block,) = [each for each in blocks if of in each]
    return block


def adapted(block: str, replaced: dict[str, object]) -> str:
    """With the ports and files of a test; each must be in the block."""
    for text, value in replaced.items():
        assert text in block
        block = block.replace(text, str(value))
    return block


@pytest.fixture
async def api(bus, replace, state_dir) -> ApiService:
    """With the settings that the page shows for a proxy."""
    settings = yaml.safe_load(shown("yaml", "client_streams_max"))["api"]
    service: ApiService = await replace(ApiService(ApiConfig(port=0, state_dir=state_dir, **settings), bus))
    return service


def port_of(api: ApiService) -> str:
    return api.url.rpartition(":")[2]


async def test_prometheus_scrapes_the_api_with_a_token(api, state_dir, tmp_path):
    secret = tmp_path / "fabricscope.token"
    secret.write_text(create(state_dir, Scope.READ) + "\n")
    replaced = {"/etc/prometheus/fabricscope.token": secret, "9099": port_of(api)}
    jobs = adapted(shown("yaml", "job_name"), replaced)
    often = "global: {scrape_interval: 200ms, scrape_timeout: 200ms}"
    prometheus = Prometheus(tmp_path / "prometheus", config=f"{often}\nscrape_configs:\n{jobs}")
    await asyncio.to_thread(prometheus.start)
    try:
        async with asyncio.timeout(DEADLINE_S):
            while not await asyncio.to_thread(prometheus.query, 'up{job="fabricscope-api"}'):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        assert await asyncio.to_thread(prometheus.query, 'up{job="fabricscope-api"} == 1')
    finally:
        prometheus.kill()


@pytest.fixture
async def identity_provider() -> AsyncIterator[int]:
    """Answers as oauth2-proxy does: carol is logged in. Its port."""

    async def answer(request: web.Request) -> web.Response:
        known = request.cookies.get("_oauth2_proxy") == "carol"
        return web.Response(status=202 if known else 401)

    app = web.Application()
    app.router.add_get("/oauth2/auth", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", free_port())
    await site.start()
    yield runner.addresses[0][1]
    await runner.cleanup()


@pytest.fixture
async def proxied(
    api, certificates: Certificates, identity_provider: int, nginx: NginxStarter, state_dir, tmp_path
) -> tuple[str, ssl.SSLContext]:
    """The address of nginx as the page shows it, and whom its certificate is from."""
    (command,) = re.findall(r"\| *\n  sed '(.*?)' > ", PAGE)
    pattern, _, line = command.removeprefix("s/").removesuffix("/").partition("/")
    secret = create(state_dir, Scope.READ, Scope.ACK, name="oidc")
    (tmp_path / "header").write_text(re.sub(f"^{pattern}$", line.replace("&", secret), secret))
    port = free_port()
    replaced = {
        "443": f"127.0.0.1:{port}",
        "/etc/nginx/noc.pem": certificates.certificate("server"),
        "/etc/nginx/noc.key": certificates.key("server"),
        "/etc/nginx/fabricscope.token": tmp_path / "header",
        "4180": identity_provider,
        "9099": port_of(api),
        "server_name noc.example": "server_name 127.0.0.1",
    }
    await asyncio.to_thread(nginx, adapted(shown("nginx", "listen"), replaced), port)
    return f"https://127.0.0.1:{port}", client_context(TlsConfig(ca_file=certificates.authority))


async def test_behind_a_proxy_only_whom_it_knows_gets_through(proxied, state_dir):
    url, context = proxied
    forged = {"Authorization": f"Bearer {create(state_dir, Scope.ADMIN, name='own')}"}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session:
        async with session.get(f"{url}/x?y=1", allow_redirects=False) as answer:
            assert (answer.status, answer.headers["Location"]) == (302, f"{url}/oauth2/sign_in?rd=/x?y=1")
        async with session.get(f"{url}/", headers=LOGGED_IN) as answer:
            assert "Incidents, worst first" in await answer.text()
        async with session.get(f"{url}/api/v1/stream", headers=LOGGED_IN) as answer:
            assert await answer.content.readuntil(b"event: data\r\n")
        async with session.post(url + PATH, json=WORK, headers=LOGGED_IN | forged) as answer:
            assert answer.status == 201
    assert json.loads(AuditLog(state_dir).file.read_text())["who"] == "oidc", "not the token that the browser brought"


@pytest.mark.parametrize("name", ["X-Forwarded-User", "X-Auth-Request-User", "X-Forwarded-Access-Token", "Remote-User"])
async def test_the_api_believes_no_header_of_a_proxy(api, name):
    async with aiohttp.ClientSession() as session, session.get(api.url, headers={name: "carol"}) as answer:
        assert answer.status == 401
