"""The simulator's pages against a real Prometheus, which scrapes them as it would scrape the real exporters."""

import asyncio
import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from simulator.config import JobMix, SimulatorConfig
from simulator.servers.config import ServeConfig
from simulator.servers.service import SimulatorService
from tests.servers.prometheus import Prometheus
from tests.waiting import DEADLINE_S

HOSTS = 2


def scrapes(service: SimulatorService, path: Path) -> str:
    """The simulator's own settings as a Prometheus configuration: the jobs have Prometheus' shape."""
    service.write_config(path)
    jobs = yaml.safe_load(path.read_text())["scrape_configs"]
    keys = ("job_name", "static_configs")
    return yaml.safe_dump(
        {"scrape_configs": [{key: job[key] for key in keys} | {"scrape_interval": "1s"} for job in jobs]}
    )


async def answered(prometheus: Prometheus, expression: str, count: int) -> list[dict[str, Any]]:
    """The query's result once it has ``count`` series."""
    async with asyncio.timeout(DEADLINE_S):
        while len(found := await asyncio.to_thread(prometheus.query, expression)) != count:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    return found


@pytest.mark.parametrize("speed", [1.0, 2.0])
async def test_prometheus_scrapes_every_page(tmp_path: Path, speed: float) -> None:
    """At speed 2 lines carry timestamps of an hour ago, which Prometheus accepts; the query looks back that far."""
    cluster = SimulatorConfig(hosts=HOSTS, jobs=JobMix(jobs=1))
    offset = 60 + os.getpid() % 180
    service = SimulatorService(ServeConfig(cluster=cluster, address_offset=offset, speed=speed))
    await service.start()
    prometheus = Prometheus(tmp_path / "prometheus", config=scrapes(service, tmp_path / "simulator.yaml"))
    try:
        await asyncio.to_thread(prometheus.start)
        targets = 3 * HOSTS + len(service.layout.servers)
        up = await answered(prometheus, "up == 1", targets)
        assert {row["metric"]["job"] for row in up} == {"dcgm", "node", "lustre"}
        back = "" if speed == 1 else "[2h]"
        found = await answered(prometheus, f"last_over_time(DCGM_FI_DEV_GPU_TEMP{back or '[1m]'})", 8 * HOSTS)
        assert all(re.fullmatch(r"GPU-[0-9a-f-]{36}", row["metric"]["UUID"]) for row in found)
        assert {row["metric"]["device"] for row in found} == {"node1", "node2"}
    finally:
        await asyncio.to_thread(prometheus.kill)
        await service.stop()
