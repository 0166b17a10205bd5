"""Every query of every board on a real Prometheus that got the simulator's data by remote write.

The simulator runs in real time with faults, so that queries that are empty on a healthy fabric return series. What it
does not model (memory errors of GPUs, a GPU with an error that stays on the bus) comes from one more page, a silent
target from an address without a listener, a change from the command line, and what has no source at all from
``made_series.py``. Prometheus scrapes the stages.
"""

import asyncio
import json
import re
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from analytics import warm_up as analytics
from dashboards.boards import ALL
from dashboards.expressions import metrics_named
from dashboards.own_series import EXPORTED
from dashboards.render import render_board
from ingest.collectors.exposition.decode import body as pages
from ingest.collectors.gnmi.decode import decoder as gnmi
from telemetry.catalogue import Kind, metrics
from tests.acceptance import made_series
from tests.acceptance.board_documents import Range, board_document
from tests.acceptance.drawn_boards import draw_boards
from tests.acceptance.lab import Program
from tests.acceptance.made_series import MadeSeries
from tests.servers.grafana_preview import bundle_page
from tests.servers.process import free_port
from tests.servers.prometheus import Prometheus
from tests.unit.dashboards.test_boards import without_macros
from tests.waiting import DEADLINE_S

INTERVAL_S, ADDRESS_OFFSET = 2, 61
FAULTS = (
    *("dirty-optic@5s", "gpu-thermal-throttle@5s", "slow-receiver@15s:node3/mlx5_2"),
    *("link-flap@40s", "link-down@60s"),  # a port must be seen up before it goes down
)
STAGES = ("ingest", "analytics", "export", "api")
CHANGE = ["change", "add", "firmware", "device:node2", "--lasts", "20s"]
LINES_MAX = 10
ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "build" / "pictures" / "boards"
PROVISIONED = {path.stem: path for path in sorted((ROOT / "deploy" / "grafana" / "dashboards").glob("*.json"))}
DRAWN_S = 120.0
BOARDS = {board.uid: render_board(board) for board in ALL}
QUERIES = [
    pytest.param(target["expr"], id=f"{uid}-{panel['id']}{target['refId']}")
    for uid, board in BOARDS.items()
    for panel in board["panels"]
    for target in panel["targets"]
]
VARIABLES = [
    pytest.param(variable["query"]["query"], id=f"{uid}-{variable['name']}")
    for uid, board in BOARDS.items()
    for variable in board["templating"]["list"]
    if variable["type"] == "query"
]
ANNOTATIONS = [
    pytest.param(annotation["expr"], id=annotation["name"])
    for annotation in next(iter(BOARDS.values()))["annotations"]["list"]
]
_SICK_GPU = """\
# TYPE DCGM_FI_DEV_XID_ERRORS gauge
DCGM_FI_DEV_XID_ERRORS{gpu="0",UUID="GPU-c4529c8d-69c4-b61d-e0bc-7b2460096005"} 48
# TYPE DCGM_FI_DEV_ECC_SBE_VOL_TOTAL counter
DCGM_FI_DEV_ECC_SBE_VOL_TOTAL{gpu="0",UUID="GPU-c4529c8d-69c4-b61d-e0bc-7b2460096005"} %d
"""


@dataclass(frozen=True, slots=True)
class Running:
    """Prometheus, and the programs whose data it gets."""

    prometheus: Prometheus
    programs: list[Program]
    ports: dict[str, int]

    def wait_for(self, done: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not done():
            for program in self.programs:
                assert not program.failed, f"{program.name} ended:\n{program.log_tail()}"
            assert time.monotonic() < deadline, f"waited {DEADLINE_S:.0f} s for {what}"
            time.sleep(0.25)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("boards")
    ports = {stage: free_port() for stage in STAGES}
    scraped = [{"targets": [_local(port) for port in ports.values()]}]
    scrape = {"job_name": "fabricscope", "scrape_interval": "1s", "static_configs": scraped}
    prometheus = Prometheus(folder / "prometheus", config=yaml.safe_dump({"scrape_configs": [scrape]}))
    cluster = ["simulate", "--interval", f"{INTERVAL_S}s", "--address-offset", str(ADDRESS_OFFSET)]
    cluster += [part for fault in FAULTS for part in ("--fault", fault)]
    simulator = Program("simulator", [*cluster, "--config-out", str(folder / "cluster.yaml")], folder)
    settings = folder / "fabricscope.yaml"
    stages = [Program(name, [name, "--config", str(settings)], folder) for name in STAGES]
    found = Running(prometheus, [simulator], ports)
    sick_gpu, made = _serve_sick_gpu(), MadeSeries(prometheus.write_url)
    for compiled in (pages, gnmi, analytics):  # before the cluster starts: a port must be seen up before it goes down
        compiled.warm_up()
    try:
        prometheus.start()
        made.start()
        simulator.start()
        found.wait_for((folder / "cluster.yaml").exists, "the simulator")
        _write_settings(folder, settings, prometheus.write_url, ports, sick_gpu.server_address[1])
        for stage in stages:
            stage.start()
        found.programs.extend(stages)
        found.wait_for(lambda: prometheus.query("count(up{target!=''}) > 10"), "samples")
        subprocess.run([sys.executable, "-m", "fabricscope", *CHANGE, "--config", str(settings)], check=True)
        yield found
    finally:
        made.stop()
        for program in (*stages, simulator):
            program.stop()
        prometheus.kill()
        sick_gpu.shutdown()
        sick_gpu.server_close()


def _write_settings(folder: Path, settings: Path, write_url: str, ports: dict[str, int], page_port: int) -> None:
    document = yaml.safe_load((folder / "cluster.yaml").read_text())
    closed = dict.fromkeys(("alerts", "recorder"), 0)
    document["global"]["metrics_ports"] = closed | {stage: port for stage, port in ports.items() if stage != "api"}
    document["remote_write"] = [{"url": write_url, "state_interval_s": 2}]
    document["api"] = {"port": ports["api"]}
    targets = {_local(page_port): "node98", _local(free_port()): "node99"}
    extra = [{"targets": [address], "labels": {"device": device}} for address, device in targets.items()]
    job = {"job_name": "sick", "source": "dcgm", "scrape_interval": INTERVAL_S, "static_configs": extra}
    document["scrape_configs"].append(job)
    settings.write_text(yaml.safe_dump(document))


def _serve_sick_gpu() -> ThreadingHTTPServer:
    """A page whose memory errors grow from scrape to scrape."""
    errors = iter(range(1, 1_000_000))

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = (_SICK_GPU % next(errors)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing: the test's output is for failures."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def _local(port: int) -> str:
    return f"127.0.0.1:{port}"


@pytest.mark.parametrize("query", QUERIES)
def test_query_returns_series(running: Running, query: str):
    expression = without_macros(query)
    running.wait_for(lambda: running.prometheus.query(expression), expression)


@pytest.mark.parametrize("query", [query for query in QUERIES if "@ end()" in str(query.values[0])])
def test_a_panel_of_the_ten_worst_draws_ten_lines(running: Running, query: str):
    """Over a time in which others were among the ten worst; Grafana replaces its macros by the same range and step."""
    expression = without_macros(query)
    running.wait_for(lambda: running.prometheus.query(expression), expression)
    now_s = time.time()
    found = running.prometheus.query_range(expression, now_s - 60, now_s, 2)
    assert 1 <= len(found) <= LINES_MAX


@pytest.mark.parametrize("query", VARIABLES)
def test_variable_has_values(running: Running, query: str):
    running.wait_for(lambda: _values(running.prometheus, without_macros(query)), query)


def _values(prometheus: Prometheus, query: str) -> list[Any]:
    """What Grafana asks for: ``label_values(selector, label)`` or ``query_result(expression)``."""
    if match := re.fullmatch(r"query_result\((.+)\)", query):
        return prometheus.query(match[1])
    match = re.fullmatch(r"label_values\((.+), (\w+)\)", query)
    assert match, f"{query}: expected label_values(selector, label) or query_result(expression)"
    arguments = urllib.parse.urlencode({"match[]": match[1]})
    with urllib.request.urlopen(
        f"{prometheus.url}/api/v1/label/{match[2]}/values?{arguments}", timeout=DEADLINE_S
    ) as answer:
        document: dict[str, Any] = json.load(answer)
    return list(document["data"])


@pytest.mark.parametrize("query", ANNOTATIONS)
def test_an_annotation_marks_something(running: Running, query: str):
    """At some time since the start: beginnings and ends are marks of one step."""
    expression = without_macros(query)
    running.wait_for(lambda: _in_ten_minutes(running.prometheus, expression), expression)


def _in_ten_minutes(prometheus: Prometheus, expression: str) -> list[dict[str, Any]]:
    now_s = time.time()
    return prometheus.query_range(expression, now_s - 600, now_s, 5)


@pytest.mark.parametrize(("name", "labels"), [(name, labels) for name, labels, _ in made_series.ALL])
def test_made_series_are_called_as_the_catalogue_says(name: str, labels: dict[str, str]):
    if name in EXPORTED:
        return
    metric = metrics()[name]
    assert labels.keys() <= set(metric.labels)
    assert (metric.kind is Kind.COUNTER) is (name in {grown for grown, _, _ in made_series.GROWING})


def test_no_series_is_made_that_no_board_asks_for():
    asked = {name for query in (*QUERIES, *VARIABLES) for name in metrics_named(str(query.values[0]))}
    assert {name for name, _, _ in made_series.ALL} <= asked


def test_a_query_of_nothing_returns_nothing(running: Running):
    """The queries above could fail."""
    assert running.prometheus.query('fabric_port_up{device="no such switch"}') == []
    assert _values(running.prometheus, "label_values(no_such_metric, device)") == []


def test_prometheus_scrapes_the_stages(running: Running):
    answer = f'count(up{{job="fabricscope"}} == 1) == {len(running.ports)}'
    running.wait_for(lambda: running.prometheus.query(answer), answer)
    assert running.prometheus.query('{job="fabricscope",__name__=~"fabricscope_.+|process_.+|python_.+"}')


@pytest.fixture(scope="module")
def drawn(running: Running, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What is wrong with each board as Grafana's own code draws it; the pictures stay in ``build/pictures/boards``."""
    for query in QUERIES:
        expression = without_macros(str(query.values[0]))
        running.wait_for(partial(running.prometheus.query, expression), expression)
    now_s = time.time()
    shown = Range(now_s - DRAWN_S, now_s, INTERVAL_S)
    boards = {uid: json.loads(path.read_text()) for uid, path in PROVISIONED.items()}
    documents = {uid: board_document(board, running.prometheus, shown) for uid, board in boards.items()}
    return asyncio.run(draw_boards(documents, bundle_page(tmp_path_factory.mktemp("page")), PICTURES))


@pytest.mark.parametrize("uid", PROVISIONED)
def test_a_board_that_is_drawn_has_no_fault(drawn: dict[str, list[str]], uid: str):
    assert drawn[uid] == []
