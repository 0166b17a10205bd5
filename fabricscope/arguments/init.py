"""``fabricscope init``: the first settings file and inventory of a cluster."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Exporter(StrEnum):
    """A source with a usual port, as in ``fabricscope.first_settings.targets``, which takes longer to load."""

    DCGM = "dcgm"
    NODE_EXPORTER = "node_exporter"
    LUSTRE = "lustre"
    AMD = "amd"


class Gnmi(StrEnum):
    """As in ``ingest.collectors.gnmi.config``, which takes longer to load."""

    SONIC = "sonic"
    ARISTA = "arista"
    OPENCONFIG = "openconfig"
    JUNOS = "junos"
    CISCO = "cisco"


def register(app: typer.Typer) -> None:
    app.command("init")(init)


def init(
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where fabricscope.yaml and inventory.yaml go.")
    ] = Path("."),
    cluster: Annotated[str, typer.Option(metavar="NAME", help="Name of the cluster, in every alert.")] = "",
    targets: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[SOURCE=]FILE",
            help="List of targets that a Prometheus has (file_sd). Its source, such as dcgm, is known by the usual "
            "ports. May come again.",
        ),
    ] = None,
    lldp: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[DEVICE=]FILE",
            help="Output of `lldpcli -f json show neighbors` on DEVICE, else on this machine. May come again.",
        ),
    ] = None,
    slurm_nodes: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Output of `scontrol show nodes --json` or `sinfo --json`. May come again."),
    ] = None,
    exporter: Annotated[
        list[Exporter] | None,
        typer.Option(help="Runs on each host that is found, on its usual port. May come again."),
    ] = None,
    gnmi: Annotated[
        Gnmi | None, typer.Option(help="What the switches that LLDP found speak, on its usual port.")
    ] = None,
    alertmanager: Annotated[str, typer.Option(metavar="URL", help="Who is notified: http://host:9093")] = "",
    remote_write: Annotated[
        str, typer.Option(metavar="URL", help="Which Prometheus has the data: http://host:9090/api/v1/write")
    ] = "",
    data_dir: Annotated[str, typer.Option(metavar="FOLDER", help="Where the state of all stages lives.")] = "data",
    discover: Annotated[
        bool, typer.Option(help="Ask lldpcli and scontrol of this machine, where no file was given.")
    ] = True,
    ask: Annotated[
        bool | None, typer.Option("--ask/--no-ask", help="Ask for what no option gives.", show_default="on a terminal")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over files that are there.")] = False,
) -> None:
    """Write the first settings and inventory, from what other programs know of the cluster.

    Nothing is contacted. Where stdin is a terminal, it asks for what is missing.
    """
    from fabricscope.commands.init import Sources, is_terminal
    from fabricscope.commands.init import init as write
    from fabricscope.first_settings.documents import Wanted

    sources = Sources(targets or (), lldp or (), slurm_nodes or (), discover)
    wanted = Wanted(
        cluster,
        data_dir,
        exporters=tuple(each.value for each in exporter or ()),
        gnmi=gnmi.value if gnmi else "",
        alertmanager=alertmanager,
        remote_write=remote_write,
    )
    write(out, sources, wanted, force=force, ask=is_terminal() if ask is None else ask)
