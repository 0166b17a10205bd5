"""Boards and rules as files, and boards into a running Grafana."""

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

from common.errors import ConfigError
from common.http import HttpClient
from common.printing import printable
from common.secrets import bearer
from common.tls import TlsConfig
from dashboards.build import build, rendered
from dashboards.grafana import GrafanaClient
from dashboards.provisioning import write_provisioning
from dashboards.rules import write_rules

TIMEOUT_S = 30.0


def write_all(folder: Path) -> list[Path]:
    """Below the folder: ``dashboards/``, ``provisioning/`` for Grafana, ``rules/`` for Prometheus."""
    boards = folder / "dashboards"
    try:
        return [
            *build(boards),
            *write_provisioning(folder / "provisioning", boards_folder=str(boards.absolute())),
            *write_rules(folder / "rules"),
        ]
    except OSError as error:
        raise ConfigError(f"{error.filename}: {error.strerror}") from error


def push_all(url: str, token_file: Path, folder: str, folder_uid: str, ca_file: Path | None) -> None:
    """Prints a line for each board, as soon as Grafana has it."""
    address = urlsplit(url)
    if address.scheme not in ("http", "https") or not address.hostname or address.username or address.query:
        raise ConfigError("--url: expected http(s)://host[:port][/path] without a user; the token is in a file")
    asyncio.run(_push(url, bearer(token_file), folder, folder_uid, TlsConfig(ca_file=ca_file)))


async def _push(url: str, authorization: str, folder: str, folder_uid: str, tls: TlsConfig) -> None:
    host = "{0.scheme}://{0.netloc}".format(urlsplit(url))  # Grafana's own addresses begin with the path of its root
    async with HttpClient(timeout_s=TIMEOUT_S, tls=tls) as http:
        grafana = GrafanaClient(http, url, authorization)
        async for board in grafana.push(rendered(), folder_uid, folder):
            print(printable(f"{board.uid}: version {board.version}, {host}{board.path}"))
