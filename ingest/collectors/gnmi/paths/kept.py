"""A path that nothing maps as a series under its own name, for jobs that ask for it."""

import re

from ingest.collectors.gnmi.paths.elements import Elements
from ingest.collectors.gnmi.paths.naming import Named
from ingest.collectors.gnmi.paths.sonic import is_sonic
from telemetry.catalogue import Kind, Metric, Origin, metrics
from telemetry.catalogue.own import is_written

_OTHER, _NAME = re.compile(r"[^a-zA-Z0-9_]"), re.compile(r"[a-zA-Z_]\w*", re.ASCII)


def kept(path: Elements) -> Named | None:
    """The series of a path; None where its name means something else, or is none that Prometheus had before UTF-8.

    Name and labels are those of gnmic's Prometheus output: steps joined by ``_``, and of each key its step and itself.
    A path of SONiC has its object, which stands between table and field, in the label ``object``.

    >>> found = kept((("system", ()), ("cpu", (("index", "0"),)), ("idle", ())))
    >>> found.metric.name, found.labels
    ('system_cpu_idle', {'cpu_index': '0'})
    """
    steps = [name for name, _ in path]
    labels = {_word(f"{name}_{key}"): value for name, keys in path for key, value in keys if value}
    if is_sonic(path) and len(steps) > 2:
        labels["object"] = "/".join(steps[1:-1])
        steps = [steps[0], steps[-1]]
    name = _word("_".join(steps))
    if name in metrics() or is_written(name) or not all(map(_NAME.fullmatch, (name, *labels))):
        return None
    metric = Metric(name, Kind.GAUGE, "", ("device", *labels), "Kept under its own name.")
    return Named(metric, Origin("", name), labels, kept=True)


def _word(text: str) -> str:
    return _OTHER.sub("_", text)
