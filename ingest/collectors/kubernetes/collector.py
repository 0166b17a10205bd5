"""The collector of one Kubernetes cluster: jobs on whole nodes, and which nodes take none, from kube-state-metrics."""

import asyncio
from collections.abc import Mapping, Sequence

import structlog

from common.errors import Unavailable
from ingest.collectors.base import ClusterEvent, CollectorContext
from ingest.collectors.command import NoAnswer
from ingest.collectors.http_document import HttpDocument, document_url
from ingest.collectors.job_list import JobList, changes, facts
from ingest.collectors.kubernetes.config import Config
from ingest.collectors.kubernetes.jobs import jobs_of
from ingest.collectors.kubernetes.nodes import nodes_of
from ingest.collectors.kubernetes.page import parse_page
from ingest.collectors.list_collector import ListCollector
from ingest.collectors.node_list import NodeList, node_facts
from ingest.transport.http1 import FetchFailed
from telemetry.samples import DownReason
from telemetry.topology import Job, NodeState

log = structlog.get_logger("ingest")


class KubernetesCollector(ListCollector):
    """Jobs and nodes that changed since the last collection; all of them at the start."""

    what = "kube-state-metrics"

    def __init__(self, config: Config, context: CollectorContext) -> None:
        super().__init__(config.name, config.interval_s, self._page)
        self._config, self._workers, self._pages = config, context.workers, context.pages
        self._document = HttpDocument(
            document_url(config.url, "/metrics"),
            self._headers,
            config.tls_config,
            timeout_s=config.timeout_s,
            raw_bytes_max=config.body_bytes_max,
            decoded_bytes_max=config.decoded_bytes_max,
            workers=context.workers,
        )
        self._jobs: Mapping[str, Job] | None = None
        self._nodes: Mapping[str, NodeState] | None = None
        self._left_out = 0

    async def stop(self) -> None:
        await self._document.stop()

    async def _page(self) -> bytes:
        response = await self._document.read()
        if not response.framed:
            raise NoAnswer(DownReason.TRUNCATED, "its length is not stated: a part would look like the whole")
        return response.body

    async def _events(self, body: bytes, now_ns: int) -> Sequence[ClusterEvent]:
        with self._pages.holding(len(body)):
            loop = asyncio.get_running_loop()
            jobs, nodes = await loop.run_in_executor(self._workers, _lists, body, self._config.gpu_resources)
        events: list[ClusterEvent] = []
        if jobs is not None:
            if jobs.malformed != self._left_out:
                log.warning("pods on a part of a node are left out", target=self.name, pods=jobs.malformed)
                self._left_out = jobs.malformed
            events += [*facts(self._jobs, jobs, now_ns, self.name), *changes(self._jobs, jobs, now_ns)]
            self._jobs = jobs.running
        if nodes is not None:
            self._report_malformed(nodes.malformed)
            events += node_facts(self._nodes, nodes.nodes, now_ns, self.name)
            self._nodes = nodes.nodes
        return events

    def _headers(self) -> Mapping[str, str]:
        headers = {"User-Agent": "Fabricscope", "Accept": "text/plain;version=0.0.4", "Accept-Encoding": "gzip"}
        if self._config.authorization is not None:
            try:
                headers["Authorization"] = self._config.authorization.authorization()
            except Unavailable as error:
                raise FetchFailed(DownReason.AUTH, str(error)) from None
        return headers


def _lists(body: bytes, gpu_resources: Sequence[str]) -> tuple[JobList | None, NodeList | None]:
    page = parse_page(body, gpu_resources)
    return jobs_of(page), nodes_of(page)
