"""``python -m tests.sources``: every system, its names, and how much of real pages is read, ``docs/sources.md``."""

from collections.abc import Iterator

from telemetry.catalogue import Metric, Origin, Source, origins_of, sources
from tests.sources import Reading, read_page

_INTRODUCTION = """\
# Sources

Written by `make docs` from `telemetry/catalogue/systems/`: what can be collected, and what each system's names become.
[Metrics](metrics.md) lists the same by metric. A system is collected in one of the ways of its row: `exposition` is a
[scrape job](collectors/exposition.md), `gnmi` a [subscription](collectors/gnmi.md), `host_counters` what is read on
[the host itself](collectors/host-counters.md), `infiniband` what the [tools](collectors/infiniband.md) of a fabric say.

How much is read was counted on real payloads, which `tests/data/samples/SOURCES.md` names with their licences: series
of the page, of these the series that the catalogue maps, and those that it leaves out on purpose, for the reason that
stands with the system. Of a name, *seen* means that such a page holds it, and *stated* that it is known from the
system's documents or code alone.
"""


def document() -> str:
    """Markdown: a table of all systems, then one of the pages and one of the names of each."""
    readings = {name: {page: read_page(one, page) for page in one.pages} for name, one in sources().items()}
    parts = [_INTRODUCTION, *_overview(readings)]
    for name, system in sources().items():
        parts += _system(system, readings[name])
    return "\n".join(parts)


def _overview(readings: dict[str, dict[str, Reading]]) -> Iterator[str]:
    yield "| system | what | collected as | names | series of its pages that are mapped | left out |"
    yield "|---|---|---|---|---|---|"
    for name, system in sources().items():
        names = len({origin.name for _, origin in origins_of(name)})
        pages = readings[name].values()
        read = f"{sum(page.mapped for page in pages)} of {sum(page.series for page in pages)}" if pages else "no page"
        left_out = sum(page.left_out for page in pages) if pages else ""
        formats = ", ".join(system.formats) if names else f"{', '.join(system.formats)}: not yet"
        link = f"[{name}](#{name})" if names else name
        yield f"| {link} | {_cell(system.help)} | {formats} | {names} | {read} | {left_out} |"
    yield ""


def _system(system: Source, readings: dict[str, Reading]) -> Iterator[str]:
    if not system.metrics:
        return
    yield f"## {system.name}\n\n{system.help}\n"
    if readings:
        yield "| page | series | mapped | left out |\n|---|---|---|---|"
        for page, read in readings.items():
            yield f"| `{page}` | {read.series} | {read.mapped} | {read.left_out} |"
        yield ""
    if system.ignored:
        yield "Left out:\n"
        yield from (f"- {', '.join(f'`{name}`' for name in each.names)}: {each.why}" for each in system.ignored)
        yield ""
    seen = frozenset[str]().union(*(read.names for read in readings.values()))
    yield "| name | metric | unit | status |\n|---|---|---|---|"
    yield from dict.fromkeys(_row(metric, origin, seen) for metric, origin in origins_of(system.name))
    yield ""


def _row(metric: Metric, origin: Origin, seen: frozenset[str]) -> str:
    where = "".join(f" {label}=`{_cell(value)}`" for label, value in origin.where.items())
    status = "seen" if origin.name in seen else "stated"
    return f"| `{origin.name}`{where} | `{metric.name}` | {metric.unit} | {status} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(document(), end="")
