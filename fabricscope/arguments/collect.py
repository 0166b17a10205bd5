"""``fabricscope collect``: do my targets answer, and with what?"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fabricscope.arguments.options import ConfigFile, duration


class Output(StrEnum):
    TABLE = "table"
    JSON = "json"


def register(app: typer.Typer) -> None:
    app.command("collect")(collect)


def collect(
    config_file: ConfigFile = None,
    once: Annotated[bool, typer.Option("--once", help="Each target once; so it is without this option too.")] = True,
    target: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A target, job/address, or either part; may come again.")
    ] = None,
    lasts: Annotated[
        float,
        typer.Option("--for", parser=duration, metavar="DURATION", help="How long to wait.", show_default="20s"),
    ] = 20.0,
    test: Annotated[
        str | None,
        typer.Option(
            "--test",
            metavar="TARGET",
            help="All that this one target gives, mapped and unmapped: job/address, either part, or with --system any "
            "address.",
        ),
    ] = None,
    system: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With --test host:port or a URL that no settings name: whose page it is."),
    ] = None,
    samples: Annotated[int, typer.Option(min=0, help="Samples of each target that are printed.")] = 3,
    output: Annotated[Output, typer.Option(help="Form of the output.")] = Output.TABLE,
) -> None:
    """Collect each configured target once and print what it answers. Exit status 1 when one does not."""
    if test is not None:
        _test(config_file, test, system, target, lasts, as_json=output is Output.JSON)
        return
    if system is not None:
        raise typer.BadParameter("--system is for the address that --test names")
    from fabricscope.commands.collect import collect_and_print

    if not collect_and_print(config_file, lasts, samples, target or (), as_json=output is Output.JSON):
        raise typer.Exit(1)


def _test(
    config_file: Path | None, test: str, system: str | None, target: list[str] | None, lasts_s: float, *, as_json: bool
) -> None:
    if target:
        raise typer.BadParameter("--test names the one target: expected no --target beside it")
    from fabricscope.commands.test_target import test_and_print

    if not test_and_print(config_file, test, system, lasts_s, as_json=as_json):
        raise typer.Exit(1)
