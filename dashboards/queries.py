"""PromQL that several boards share. ``$__rate_interval`` everywhere, so that no window is shorter than four scrapes."""

WINDOW = "$__rate_interval"

PORTS = 'cluster=~"$cluster",device=~"$device"'
GPUS = 'cluster=~"$cluster",device=~"$host"'
CLUSTER = 'cluster=~"$cluster"'


def rate(metric: str, labels: str, **only: str) -> str:
    """Per-second rate of a counter, of the series whose labels are also as in ``only``."""
    selected = ",".join([labels, *(f'{label}="{value}"' for label, value in only.items())])
    return f"rate({metric}{{{selected}}}[{WINDOW}])"


def summed_rate(by: str, metric: str, labels: str, **only: str) -> str:
    """That rate, summed over all labels but those in ``by``."""
    return f"sum by ({by}) ({rate(metric, labels, **only)})"


def worst(expr: str, n: int = 10) -> str:
    """The ``n`` whose largest value in the panel's time range is the largest, and not zero, as whole lines.

    ``topk`` alone chooses again at every step: it draws several times as many lines, each of them broken.
    """
    return f"({expr}) and topk({n}, max_over_time(({expr})[$__range:$__interval] @ end()) > 0)"


def lowest(expr: str, n: int = 10) -> str:
    """The ``n`` whose smallest value in the panel's time range is the smallest, as whole lines."""
    return f"({expr}) and bottomk({n}, min_over_time(({expr})[$__range:$__interval] @ end()))"


def freshness() -> str:
    """Age in seconds of the newest sample, by the kind of target (the part of its name before the slash)."""
    job = f'label_replace(timestamp(up{{{CLUSTER}}}), "job", "$1", "target", "([^/]+)/.*")'
    return f"time() - max by (job) ({job})"


def targets_up() -> str:
    """Share of targets that are up."""
    return f"avg(up{{{CLUSTER}}})"


def pause_ratio(direction: str, labels: str) -> str:
    """Share of time that a port is paused in one direction; 1 = all the time."""
    paused = rate("fabric_port_pfc_pause_seconds_total", labels, direction=direction)
    return f"max by (device, port) ({paused})"
