"""PromQL that several boards share. ``$__rate_interval`` everywhere, so that no window is shorter than four scrapes."""

WINDOW = "$__rate_interval"

CLUSTER = 'cluster=~"$cluster",replay=~"$replay"'
DEVICES = CLUSTER + ',pod=~"$pod",rack=~"$rack",device=~"$device"'
TARGETS = CLUSTER + ',target!=""'  # of up: Prometheus has series of this name for whatever it scrapes itself
OWN = 'job="fabricscope"'  # Fabricscope's own metrics, which Prometheus scrapes: they are of no cluster
GPU_INFO = f"max by (cluster, device, gpu, index) (gpu_info{{{CLUSTER}}})"
LINES_MAX = 10  # of a panel: more cannot be distinguished by their colours
LABEL_OF = {"job": "job_id"}  # variables that are not called like the label that fills them
JOB_NODES = f'fabricscope_job_node{{{CLUSTER},job_id=~"$job"}}'


def rate(metric: str, labels: str, **only: str) -> str:
    """Per-second rate of a counter, of the series whose labels are also as in ``only``."""
    return f"rate({metric}{{{selected(labels, **only)}}}[{WINDOW}])"


def selected(labels: str, **only: str) -> str:
    """Label matchers; a value that begins with ``~`` or ``!`` has its own operator.

    >>> selected('device="a"', side="server", op="~read|write", reason="!never")
    'device="a",side="server",op=~"read|write",reason!="never"'
    """
    return ",".join([labels, *(_matcher(label, value) for label, value in only.items())])


def _matcher(label: str, value: str) -> str:
    if value.startswith("~"):
        return f'{label}=~"{value[1:]}"'
    return f'{label}!="{value[1:]}"' if value.startswith("!") else f'{label}="{value}"'


def summed_rate(by: str, metric: str, labels: str, **only: str) -> str:
    """That rate, summed over all labels but those in ``by``."""
    return f"sum by ({by}) ({rate(metric, labels, **only)})"


def own_rate(metric: str, by: str = "") -> str:
    """Rate of a counter of Fabricscope's own."""
    return f"sum{f' by ({by})' if by else ''} ({rate(metric, OWN)})"


def worst(expr: str, n: int = LINES_MAX) -> str:
    """The ``n`` whose largest value in the panel's time range is the largest, and not zero, as whole lines.

    ``topk`` alone chooses again at every step: it draws several times as many lines, each of them broken.
    """
    return f"({expr}) and topk({n}, max_over_time(({expr})[$__range:$__interval] @ end()) > 0)"


def lowest(expr: str, n: int = LINES_MAX) -> str:
    """The ``n`` whose smallest value in the panel's time range is the smallest, as whole lines."""
    return f"({expr}) and bottomk({n}, min_over_time(({expr})[$__range:$__interval] @ end()))"


def not_whole(expr: str, n: int = LINES_MAX) -> str:
    """Those of the ``lowest`` that were below 1 in the panel's time range: states of which 1 is up."""
    return f"({expr}) and bottomk({n}, min_over_time(({expr})[$__range:$__interval] @ end()) < 1)"


def with_index(expr: str) -> str:
    """Series of GPUs with the index that people call a GPU by; where no source says it, the beginning of its UUID."""
    on = "on (cluster, device, gpu)"
    unknown = f'label_replace(({expr}) unless {on} {GPU_INFO}, "index", "$1", "gpu", "(?:GPU-)?(.{{1,8}}).*")'
    return f"({expr}) * {on} group_left (index) {GPU_INFO} or {unknown}"


def gpu_of_object(expr: str) -> str:
    """Findings with the label ``gpu`` of the GPU that they are about; the others are as they were."""
    return f'label_replace({expr}, "gpu", "$1", "object", "gpu:[^/]+/(.+)")'


def of_jobs(expr: str) -> str:
    """Values of devices for each job that has the device: of two jobs on one node both get its value.

    expr: one series a ``device``.
    """
    return f"{JOB_NODES} * on (cluster, device) group_left () ({expr})"


def cabled(state: str, labels: str) -> str:
    """Ports that were up within the last day: a port without a cable is no port that is down."""
    return f"{state}{{{labels}}} and on (cluster, device, port) max_over_time({state}{{{labels}}}[1d]) == 1"


def down(state: str, labels: str) -> str:
    """Ports that are down, and have a cable."""
    return f"({cabled(state, labels)}) == 0"


def age_of_targets() -> str:
    """Age in seconds of the newest sample, by the kind of target (the part of its name before the slash)."""
    kind = f'label_replace(timestamp(up{{{TARGETS}}}), "source", "$1", "target", "([^/]+)/.*")'
    return f"time() - max by (source) ({kind})"


def targets_up(labels: str = TARGETS) -> str:
    """Share of targets that are up."""
    return f"avg(up{{{labels}}})"


def with_data(expr: str) -> str:
    """A number where there are targets, else -1: without any, nothing is known, and 0 would look like good news."""
    return f"({expr}) and on () (count(up{{{TARGETS}}}) > 0) or vector(-1)"


def pause_ratio(direction: str, labels: str) -> str:
    """Share of time that a port is paused in one direction; 1 = all the time."""
    paused = rate("fabric_port_pfc_pause_seconds_total", labels, direction=direction)
    return f"max by (cluster, device, port) ({paused})"
