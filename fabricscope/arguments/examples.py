"""Exit statuses and examples at the end of each command's help. A test runs the examples through the parser."""

from collections.abc import Mapping

import typer

from fabricscope.arguments.exit_statuses import exit_statuses

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "run": (
        "fabricscope run",
        "fabricscope run --fault gpu-thermal-throttle@20s --port 9100",
        "fabricscope run --config pod1.yaml",
    ),
    "init": (
        "fabricscope init",
        "fabricscope init --no-ask --out /etc/fabricscope --cluster pod1 --targets /etc/prometheus/dcgm.json",
        "fabricscope init --lldp node1=node1.json --lldp node2=node2.json --gnmi sonic --exporter dcgm",
        "fabricscope init --slurm-nodes nodes.json --exporter node_exporter --alertmanager http://127.0.0.1:9093",
    ),
    "ingest": ("fabricscope ingest --config pod1.yaml", "fabricscope --log-format json ingest --config pod1.yaml"),
    "analytics": ("fabricscope analytics --config pod1.yaml",),
    "alerts": ("fabricscope alerts --config pod1.yaml",),
    "export": ("fabricscope export --config pod1.yaml",),
    "recorder": ("fabricscope recorder --config pod1.yaml",),
    "api": ("fabricscope api --config pod1.yaml",),
    "incidents list": (
        "fabricscope incidents list --state firing --severity critical",
        "fabricscope incidents --object node3 --since 2026-01-31T22:00:00Z --output json",
        "fabricscope incidents --url https://fabricscope.example:9099 --token-file read.token",
    ),
    "incidents show": ("fabricscope incidents show 5f0c9a1e5f0c9a1e --members",),
    "targets": ("fabricscope targets --down", "fabricscope targets --device leaf1 --output json"),
    "ledger": ("fabricscope ledger", "fabricscope ledger --targets --lossy", "fabricscope ledger --targets --job dcgm"),
    "events": ("fabricscope events --kind pfc_pause --object leaf1",),
    "changes": ("fabricscope changes --kind maintenance --since 2026-01-31T00:00:00Z",),
    "change add": (
        "fabricscope change add maintenance device:node1 --lasts 2h --summary 'new NIC' --config pod1.yaml",
        "fabricscope change add drain rack:r2 --starts 2026-01-31T22:00:00Z --lasts 1d --config pod1.yaml",
    ),
    "deadletter list": ("fabricscope deadletter list --config pod1.yaml",),
    "deadletter show": ("fabricscope deadletter show 17 --config pod1.yaml",),
    "deadletter replay": ("fabricscope deadletter replay 17 18 --yes --config pod1.yaml",),
    "token create": ("fabricscope token create robot --scope ack --lasts 30d --config pod1.yaml",),
    "token list": ("fabricscope token list --config pod1.yaml",),
    "token revoke": ("fabricscope token revoke robot --config pod1.yaml",),
    "record": ("fabricscope record recordings/monday --last 15m --for 1h --config pod1.yaml",),
    "replay": (
        "fabricscope replay recordings/monday --out found",
        "fabricscope replay recordings/monday --config what-if.yaml --output json",
    ),
    "simulate": (
        "fabricscope simulate --hosts 16 --fault slow-receiver@30s+60s:node3/mlx5_2 --config-out simulated.yaml",
        "fabricscope simulate --cluster cluster.yaml --speed 10 --truth truth.jsonl",
    ),
    "collect": (
        "fabricscope collect --config pod1.yaml",
        "fabricscope collect --target dcgm --for 5s --output json",
        "fabricscope collect --test dcgm/node1:9400 --config pod1.yaml",
        "fabricscope collect --test http://node1:9400/metrics --system dcgm",
    ),
    "detect": (
        "fabricscope detect series.csv --output scored.csv",
        "fabricscope detect rack.csv --timezone Europe/Berlin --wide --output scored.parquet",
        "fabricscope detect metrics.parquet --by host --by gpu --value temperature --fail-on-alert",
    ),
    "explain": ("fabricscope explain series.csv --from 2024-03-01 --to 2024-03-02 --output series.png",),
    "check config": ("fabricscope check config pod1.yaml",),
    "check dashboards": ("fabricscope check dashboards",),
    "config print": ("fabricscope config print > pod1.yaml",),
    "dashboards build": ("fabricscope dashboards build /var/lib/grafana/dashboards",),
    "dashboards check": ("fabricscope dashboards check",),
    "dashboards push": (
        "fabricscope dashboards push --url https://grafana.example --token-file grafana.token --folder Fabricscope",
    ),
    "completion": (
        "source <(fabricscope completion bash)",
        "fabricscope completion zsh > ~/.zfunc/_fabricscope",
        "fabricscope completion fish > ~/.config/fish/completions/fabricscope.fish",
    ),
    "version": ("fabricscope version",),
}


def add_epilogs(app: typer.Typer, path: tuple[str, ...] = ()) -> None:
    """What each exit status says, and the examples, to each command below ``app``."""
    for command in app.registered_commands:
        name = str(command.name or getattr(command.callback, "__name__", ""))
        whole = " ".join((*path, name))
        examples = (f"  $ {line}" for line in EXAMPLES.get(whole, ()))
        command.epilog = "\n\n".join((exit_statuses(whole), "Examples:", *examples))
    for group in app.registered_groups:
        if group.typer_instance is not None and isinstance(group.name, str):
            add_epilogs(group.typer_instance, (*path, group.name))
