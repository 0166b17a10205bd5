"""``fabricscope dashboards``: files, and boards in a Grafana whose API refuses what the real one refuses."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from common.errors import ConfigError, Unavailable
from dashboards.boards import ALL
from dashboards.build import rendered
from dashboards.provisioning import write_provisioning
from fabricscope.cli import app
from tests.servers.grafana_api import EDITOR, VIEWER, GrafanaApi

ROOT = Path(__file__).parents[4]
UIDS = {board.uid for board in ALL}


@pytest.fixture(params=["", "/grafana"])
def grafana(request: pytest.FixtureRequest) -> Iterator[GrafanaApi]:
    """At the root of its host, and below a path."""
    server = GrafanaApi(request.param)
    server.start()
    yield server
    server.stop()


def push(url: str, folder: Path, token: str = EDITOR, *more: str) -> Result:
    token_file = folder / "token"
    token_file.write_text(f"{token}\n")
    return CliRunner().invoke(app, ["dashboards", "push", "--url", url, "--token-file", str(token_file), *more])


def test_all_boards_arrive_in_a_folder_that_is_made(grafana, tmp_path):
    answer = push(grafana.url + "/", tmp_path)
    assert answer.exit_code == 0, answer.exception
    assert grafana.folders == {"fabricscope": "Fabricscope"}
    assert {**grafana.boards} == {board["uid"]: {**board, "id": None} for board in rendered()}
    assert set(grafana.folder_of.values()) == {"fabricscope"}
    assert f"fabricscope-noc: version 1, {grafana.url}/d/fabricscope-noc/" in answer.output
    assert len(answer.output.splitlines()) == len(ALL)
    assert EDITOR not in answer.output


def test_pushing_again_replaces_what_is_there(grafana, tmp_path):
    grafana.folders["ours"] = "Somebody's"
    for _ in range(2):
        assert push(grafana.url, tmp_path, EDITOR, "--folder-uid", "ours").exit_code == 0
    grafana.boards["fabricscope-noc"] = {"title": "edited by hand"}
    answer = push(grafana.url, tmp_path, EDITOR, "--folder-uid", "ours")
    assert "fabricscope-noc: version 2," in answer.output
    assert set(grafana.versions.values()) == {1, 2}
    assert grafana.folders == {"ours": "Somebody's"}


@pytest.mark.parametrize(
    ("token", "why"),
    [
        ("glsa_of_another", "folder fabricscope: Grafana does not know the token (401: "),
        (VIEWER, "folder fabricscope: the token may not do this: it needs the role Editor (403: "),
    ],
)
def test_a_token_that_does_not_do(grafana, tmp_path, token, why):
    answer = push(grafana.url, tmp_path, token)
    assert isinstance(answer.exception, ConfigError)
    assert str(answer.exception).startswith(why)
    assert token not in str(answer.exception)
    assert grafana.boards == {}


def test_a_folder_of_that_name_under_another_uid(grafana, tmp_path):
    grafana.folders["other"] = "Fabricscope"
    answer = push(grafana.url, tmp_path)
    assert isinstance(answer.exception, ConfigError)
    assert "folder fabricscope: Grafana refuses it (409: " in str(answer.exception)


def test_a_busy_grafana(grafana, tmp_path):
    grafana.busy = True
    answer = push(grafana.url, tmp_path)
    assert isinstance(answer.exception, Unavailable)
    assert "503" in str(answer.exception)


def test_another_path_than_grafanas(tmp_path):
    server = GrafanaApi("/grafana")
    server.start()
    answer = push(server.url.removesuffix("/grafana"), tmp_path)
    server.stop()
    assert "expected the address of Grafana, with the path below which it is served" in str(answer.exception)


def test_nobody_listens(tmp_path):
    assert isinstance(push("http://127.0.0.1:9", tmp_path).exception, Unavailable)


@pytest.mark.parametrize("url", ["grafana.example", "ftp://grafana.example", "https://admin:secret@grafana.example"])
def test_what_is_no_address_of_grafana(tmp_path, url):
    answer = push(url, tmp_path)
    assert isinstance(answer.exception, ConfigError)
    assert "secret" not in str(answer.exception)


def test_build_writes_boards_provisioning_and_rules(tmp_path):
    answer = CliRunner().invoke(app, ["dashboards", "build", str(tmp_path / "out")])
    assert answer.exit_code == 0
    written = {path.relative_to(tmp_path / "out").as_posix() for path in map(Path, answer.output.split())}
    others = {"provisioning/dashboards/fabricscope.yaml", "provisioning/datasources/prometheus.yaml"}
    rules = {"rules/fabricscope.yml", "rules/fabricscope-records.yml"}
    assert written == {f"dashboards/{uid}.json" for uid in UIDS} | others | rules
    assert all((tmp_path / "out" / name).is_file() for name in written)
    (provider,) = yaml.safe_load((tmp_path / "out/provisioning/dashboards/fabricscope.yaml").read_text())["providers"]
    assert provider["options"]["path"] == str(tmp_path / "out" / "dashboards")


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "out").write_text("a file")
    answer = CliRunner().invoke(app, ["dashboards", "build", str(tmp_path / "out")])
    assert isinstance(answer.exception, ConfigError)


def test_what_the_compose_file_mounts_is_what_is_generated(tmp_path):
    deployed = ROOT / "deploy" / "grafana" / "provisioning"
    for path in write_provisioning(tmp_path):
        assert (deployed / path.relative_to(tmp_path)).read_text() == path.read_text(), "run: make boards"
