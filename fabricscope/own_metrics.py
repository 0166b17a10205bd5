"""Our own metrics as a document: ``python -m fabricscope.own_metrics``, ``docs/own-metrics.md``."""

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass

PACKAGES = ("ingest", "bus", "analytics", "alerts", "export", "recordings", "fabricscope")
_INTRODUCTION = """\
# Own metrics

What Fabricscope exports about itself, on `/metrics` of each stage. Written by `make docs`.
The stage is the second part of a name; metrics of the bus come from every stage. The library adds `python_*` and
`process_*`.

Names are the same in every stage, so one query spans them. What is lost anywhere, and why:

```
sum by (__name__, reason) (rate({__name__=~"fabricscope_.+_dropped_total"}[5m]))
```
"""


@dataclass(frozen=True, slots=True)
class OwnMetric:
    """One metric as Prometheus scrapes it. module: where it is defined."""

    name: str
    kind: str
    labels: tuple[str, ...]
    help: str
    module: str

    @property
    def stage(self) -> str:
        """``ingest`` of ``fabricscope_ingest_targets``."""
        return self.name.split("_")[1]


def own_metrics() -> list[OwnMetric]:
    """Those of every module called ``metrics``, by name."""
    return sorted((one for module in _modules() for one in _metrics_of(module)), key=lambda one: one.name)


def document(metrics: list[OwnMetric]) -> str:
    """Markdown, one table a stage."""
    parts = [_INTRODUCTION]
    for stage in dict.fromkeys(one.stage for one in metrics):
        parts.append(f"\n## {stage}\n\n| metric | type | labels | |\n|---|---|---|---|\n")
        for one in metrics:
            if one.stage == stage:
                labels = ", ".join(f"`{label}`" for label in one.labels)
                parts.append(f"| `{one.name}` | {one.kind} | {labels} | {one.help.rstrip('.')} |\n")
    return "".join(parts)


def _modules() -> Iterator[str]:
    for root in PACKAGES:
        package = importlib.import_module(root)
        for found in pkgutil.walk_packages(package.__path__, f"{root}."):
            if found.name.endswith(".metrics"):
                yield found.name


def _metrics_of(module: str) -> Iterator[OwnMetric]:
    for collector in vars(importlib.import_module(module)).values():
        if isinstance(collector, type) or not hasattr(collector, "collect"):
            continue
        for family in collector.describe() if hasattr(collector, "describe") else collector.collect():
            labels = tuple(getattr(collector, "_labelnames", getattr(family, "_labelnames", ())))
            name = f"{family.name}_total" if family.type == "counter" else family.name
            yield OwnMetric(name, family.type, labels, family.documentation, module)


if __name__ == "__main__":
    print(document(own_metrics()), end="")
