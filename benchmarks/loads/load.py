"""The loads of the end-to-end benchmark: the mix of a cluster, or pages alone.

The mix is 64 hosts of 8 GPUs (a GPU page and a node_exporter page each) and the switches of their rail-optimised
leaf-spine as the simulator lays it out: 34 SONiC leaves and 32 spines with 2,704 ports between them. Per port and
interval they send what the default subscriptions ask for: a leaf about 110 values (port, eight PFC priorities, eight
queues with ECN, eight priority groups with watermarks), a spine about 90, so nine samples of ten are a switch's.

How a switch sends determines the cost of reading it, so messages are as real agents send them. sonic-gnmi answers a
path with one JSON_IETF object of strings for all ports: few, large messages. EOS answers PROTO with a notification for
each port and path, prefix and relative leaves: 170 messages of about 19 updates a spine and interval, each a gRPC
message.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from benchmarks.loads.gnmi_servers import GnmiServers, responses, switches_of
from benchmarks.loads.moving_pages import gpu_pages, node_pages
from benchmarks.loads.page_server import PageServer
from benchmarks.references.naive_pipeline import values_of
from ingest.collectors.gnmi.config import Source
from simulator.config import SimulatorConfig
from simulator.wiring import build_layout

_PAGES = {"dcgm": "/gpu", "node_exporter": "/node"}


@dataclass(frozen=True, slots=True)
class Load:
    """Configuration for ``ingest``, and what its targets serve.

    jobs: scrape and gNMI jobs. polled: targets of pages; targets: all. settle_s: until each target's series are known.
    values: lines and fields an interval, mapped or not. pages, messages: for the reference, in the proportion of the
    load.
    """

    interval_s: float
    jobs: dict[str, Any]
    polled: int
    targets: int
    settle_s: float
    values: int
    pages: Sequence[bytes]
    messages: Sequence[bytes] = ()


@contextmanager
def pages_alone(hosts: int = 300, interval_s: float = 1.0) -> Iterator[Load]:
    with PageServer(hosts, interval_s) as pages:
        jobs = {"scrape_configs": _scrapes(pages, interval_s)}
        examples = [*gpu_pages(2), *node_pages(2)]
        values = hosts * _lines(examples) // 2
        yield Load(interval_s, jobs, 2 * hosts, 2 * hosts, 6.0, values, examples)


@contextmanager
def mix(hosts: int = 64, interval_s: float = 2.0) -> Iterator[Load]:
    with ExitStack() as stack:
        pages = stack.enter_context(PageServer(hosts, interval_s))
        switches = stack.enter_context(GnmiServers(hosts, interval_s)).switches
        gnmi = [
            {
                "job_name": source.value,
                "source": source.value,
                "interval_s": interval_s,
                "tls": {"insecure": True},
                "targets": [
                    {"address": switch.address, "device": switch.name} for switch in switches if switch.source is source
                ],
            }
            for source in (Source.SONIC, Source.ARISTA)
        ]
        jobs = {"scrape_configs": _scrapes(pages, interval_s), "gnmi_configs": gnmi}
        examples, messages = [*gpu_pages(2), *node_pages(2)], _one_of_each(hosts, interval_s)
        values = hosts * _lines(examples) // 2
        count = {source: values_of(found) for source, found in messages.items()}
        values += sum(count[switch.source] for switch in switches)
        both = [message for source in messages.values() for message in source]
        yield Load(
            interval_s=interval_s,
            jobs=jobs,
            polled=2 * hosts,
            targets=2 * hosts + len(switches),
            settle_s=40.0,
            values=values,
            pages=examples,
            messages=both,
        )


def _one_of_each(hosts: int, interval_s: float) -> dict[Source, list[bytes]]:
    """What one leaf and one spine send in an interval: a pair for each two hosts, nearly."""
    config = SimulatorConfig(hosts=hosts, interval_s=interval_s)
    switches = switches_of(build_layout(config), 1)
    pair = [switches[0], switches[-1]]
    messages = responses(config, pair, 2, slow=False)
    return {
        switch.source: [message for variants in messages[switch.name].values() for message in variants[1]]
        for switch in pair
    }


def _lines(pages: Sequence[bytes]) -> int:
    return sum(line[:1] not in (b"#", b"") for page in pages for line in page.splitlines())


def _scrapes(pages: PageServer, interval_s: float) -> list[dict[str, Any]]:
    return [
        {
            "job_name": source,
            "source": source,
            "metrics_path": path,
            "scrape_interval": interval_s,
            "static_configs": [
                {"targets": [f"{host}:{pages.port}"], "labels": {"device": f"node{number}"}}
                for number, host in enumerate(pages.hosts, 1)
            ],
        }
        for source, path in _PAGES.items()
    ]
