"""``fabricscope dashboards``: the Grafana boards, as files or into a running Grafana."""

from pathlib import Path
from typing import Annotated

import typer

FOLDER = Path("fabricscope-dashboards")


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Grafana boards and Prometheus rules.", no_args_is_help=True)
    group.command("build")(build)
    group.command("check")(check)
    group.command("push")(push)
    app.add_typer(group, name="dashboards")


def build(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write.")] = FOLDER,
) -> None:
    """Write boards, Grafana's provisioning files and Prometheus' rules, and print their names."""
    from fabricscope.commands.dashboards import write_all

    for path in write_all(folder):
        print(path)


def check() -> None:
    """Check all boards against their rules and the metric catalogue; each complaint is a line and exit status 1."""
    from fabricscope.arguments.check import check_dashboards

    check_dashboards()


def push(
    url: Annotated[str, typer.Option(metavar="URL", help="Address of Grafana: https://grafana.example/path.")],
    token_file: Annotated[
        Path, typer.Option(metavar="FILE", help="File with a token of a service account, role Editor.")
    ],
    folder: Annotated[str, typer.Option(metavar="TITLE", help="Folder; made where it is missing.")] = "Fabricscope",
    folder_uid: Annotated[str, typer.Option(metavar="UID", help="Its uid.")] = "fabricscope",
    ca_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Certificates to trust instead of the system's.")
    ] = None,
) -> None:
    """Put all boards into a running Grafana, by its HTTP API. A board that is there is replaced."""
    from fabricscope.commands.dashboards import push_all

    push_all(url, token_file, folder, folder_uid, ca_file)
