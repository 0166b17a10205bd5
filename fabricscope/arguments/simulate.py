"""``fabricscope simulate``: a simulated cluster behind the real protocols."""

from pathlib import Path
from typing import Annotated

import typer

from fabricscope.arguments.options import duration

FAULTS = (
    *("slow-receiver", "incast", "dirty-optic", "link-down", "link-flap", "speed-downgrade", "spine-down"),
    *("switch-reboot", "gpu-thermal-throttle", "xid", "straggler-gpu", "hung-gpu", "gpu-memory-wears"),
    *("slow-storage-target", "late-checkpoint", "exporter-frozen", "rack-power-loss", "rack-cooling"),
    *("planned-reboot-wave", "leaf-down", "storage-server-down", "line-card-down", "pdu-phase-loss"),
    *("row-power-loss", "fan-wall-failure", "routing-daemon-down", "nic-driver-push", "pfc-deadlock"),
    *("rdma-over-sockets", "nvlink-down", "lossless-misconfigured", "cable-swap", "nccl-hang", "rolling-reboot"),
)
"""What can be injected, for the help: the faults themselves need numeric libraries. A test compares the names."""


def register(app: typer.Typer) -> None:
    app.command("simulate")(simulate)


def simulate(
    hosts: Annotated[
        int | None, typer.Option(min=2, max=4096, help="GPU hosts, 8 GPUs each.", show_default="8")
    ] = None,
    cluster: Annotated[
        Path | None,
        typer.Option(
            help="The cluster, its faults and its telemetry as YAML: hosts, seed and interval_s are in it then."
        ),
    ] = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME@AT[+LENGTH][,on=5s,off=10s][,strength=0.5][,silent][:TARGET], like "
            "slow-receiver@30s+60s:node3/mlx5_2; may be repeated. "
            f"Names: {', '.join(FAULTS)}."
        ),
    ] = None,
    schedule: Annotated[
        Path | None, typer.Option(help="Faults, as a YAML list of {fault, at_s, lasts_s, target, …}.")
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option(
            parser=duration,
            metavar="DURATION",
            help="How often it will be collected from, in simulated time.",
            show_default="10s",
        ),
    ] = None,
    speed: Annotated[float, typer.Option(min=0.01, max=100, help="Simulated seconds per second.")] = 1.0,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Fixes names, noise and random targets.", show_default="1")
    ] = None,
    address_offset: Annotated[
        int, typer.Option(min=0, max=250, help="Moves all addresses, for a second simulator.")
    ] = 0,
    config_out: Annotated[Path | None, typer.Option(help="Write settings that collect from it.")] = None,
    truth: Annotated[Path | None, typer.Option(help="Write what is broken, from when to when, as JSON lines.")] = None,
) -> None:
    """Serve a simulated cluster over gNMI, exporter pages and Slurm's JSON, on loopback addresses, until Ctrl-C."""
    import asyncio

    from fabricscope.commands.simulate import cluster_of, faults_of, serve_cluster, serve_config

    described = cluster_of(cluster, hosts=hosts, seed=seed, interval_s=interval)
    config = serve_config(
        cluster=described.config,
        collection=described.collection,
        speed=speed,
        address_offset=address_offset,
        faults=faults_of(described, fault or (), schedule),
        truth_file=truth,
    )
    asyncio.run(serve_cluster(config, config_out))
