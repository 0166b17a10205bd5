"""The exporter pages: real names, a grammar that other parsers accept, and exactly the readings."""

import csv
import json
import re
import shutil
import subprocess
from collections.abc import Callable

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from common.units import NS_PER_S
from simulator.counters.readings import RX, TX, Readings
from simulator.layout import LOSSLESS, OTHER
from simulator.servers.io_time import BUCKETS_MS, IoTimes
from simulator.servers.pages.dcgm import DcgmPage
from simulator.servers.pages.lustre import client_page, server_page
from simulator.servers.pages.node import node_page
from simulator.servers.pages.slurm import jobs_document
from telemetry.catalogue import origins_of
from tests.samples import SAMPLES
from tests.unit.simulator.servers.readings import filled_readings, small_layout

LAYOUT = small_layout()
READINGS = filled_readings(LAYOUT)
IO_TIMES = IoTimes(len(LAYOUT.targets))
IO_TIMES.observe(READINGS.storage)

Render = Callable[..., str]
PAGES: dict[str, Render] = {
    "dcgm": DcgmPage(LAYOUT, "node2").render,
    "node": node_page(LAYOUT, "node2").render,
    "lustre_server": server_page(LAYOUT, "oss1", IO_TIMES).render,
    "lustre_client": client_page(LAYOUT, "node2").render,
}


def values(page: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Every sample by name and labels, as prometheus_client reads the page (which adds _total to bare counters)."""
    samples = [sample for family in text_string_to_metric_families(page) for sample in family.samples]
    written = {re.split("[{ ]", line)[0] for line in page.splitlines()}
    return {
        (s.name if s.name in written else s.name.removesuffix("_total"), frozenset(s.labels.items())): s.value
        for s in samples
    }


def value(page: str, name: str, **labels: str) -> float:
    found = [v for (n, have), v in values(page).items() if n == name and set(labels.items()) <= have]
    assert len(found) == 1, f"{name} {labels}: {len(found)} samples"
    return found[0]


def names(page: str) -> set[str]:
    return {name for name, _ in values(page)}


@pytest.mark.parametrize("which", PAGES)
def test_no_series_is_duplicated_and_every_family_has_help_and_type(which: str) -> None:
    page = PAGES[which](READINGS)
    lines = [line for line in page.splitlines() if not line.startswith("#")]
    assert len(values(page)) == len(lines)
    assert page.count("# HELP ") == page.count("# TYPE ") == len({line.split("{")[0].split(" ")[0] for line in lines})


@pytest.mark.parametrize("which", PAGES)
def test_promtool_reads_the_page(which: str) -> None:
    """promtool also lints names that the real exporters break: only its parse errors count."""
    promtool = shutil.which("promtool")
    assert promtool is not None, "apt-get install prometheus"
    done = subprocess.run([promtool, "check", "metrics"], input=PAGES[which](READINGS).encode(), capture_output=True)
    assert b"error while" not in done.stderr, done.stderr.decode()
    assert done.returncode in (0, 3), done.stderr.decode()


@pytest.mark.parametrize("which", PAGES)
def test_a_timestamp_is_on_every_line_or_on_none(which: str) -> None:
    lines = [line for line in PAGES[which](READINGS, 1234567890123).splitlines() if not line.startswith("#")]
    assert all(line.endswith(" 1234567890123") for line in lines)
    bare = [line for line in PAGES[which](READINGS).splitlines() if not line.startswith("#")]
    assert bare == [line.removesuffix(" 1234567890123") for line in lines]


def test_dcgm_names_are_dcgm_fields_in_the_shipped_order_with_the_shipped_types() -> None:
    fields = SAMPLES / "dcgm" / "config"
    shipped: dict[str, str] = {}
    for line in (fields / "default-counters.csv").read_text().splitlines():
        row = next(csv.reader([line.lstrip("# ")]), [])
        if len(row) >= 3 and row[0].strip().startswith("DCGM_"):
            shipped[row[0].strip()] = row[1].strip()
    known = set(shipped) | set(re.findall(r"DCGM_FI_[A-Z0-9_]+", (fields / "dcgm_fields_4.6.0.csv").read_text()))
    known |= set(re.findall(r"DCGM_FI_[A-Z0-9_]+", (fields / "dcgm_field_renames_4.6.0.csv").read_text()))
    page = PAGES["dcgm"](READINGS)
    assert names(page) <= known
    types = dict(re.findall(r"# TYPE (\S+) (\S+)", page))
    assert {n: t for n, t in types.items() if n in shipped} == {n: shipped[n] for n in types if n in shipped}
    enabled = re.findall(r"^(DCGM_\w+)", (fields / "default-counters.csv").read_text(), re.MULTILINE)
    assert [n for n in types if n in enabled] == [n for n in enabled if n in types]


def test_node_names_are_node_exporters() -> None:
    sample = (SAMPLES / "node_exporter" / "e2e_selected_families.prom").read_text()
    known = set(re.findall(r"^node_\w+", sample, re.MULTILINE))
    known |= {origin.name for _, origin in origins_of("node_exporter")}
    patterns = [re.escape(name).replace(r"\{priority\}", r"\d") for name in known]
    assert [n for n in names(PAGES["node"](READINGS)) if not any(re.fullmatch(p, n) for p in patterns)] == []


def test_lustre_names_are_lustrefs_exporters() -> None:
    samples = (SAMPLES / "storage").glob("lustrefs_exporter_*.prom")
    known = {name for sample in samples for name in re.findall(r"^lustre_\w+", sample.read_text(), re.MULTILINE)}
    assert names(PAGES["lustre_server"](READINGS)) | names(PAGES["lustre_client"](READINGS)) <= known


def test_dcgm_labels_are_those_of_a_real_page_in_its_order() -> None:
    real = (SAMPLES / "dcgm" / "exposition" / "l4_kops_driver580.prom").read_text()
    pattern = r"^DCGM_FI_DEV_GPU_TEMP\{(.*)\}"
    order = []
    for text in (real, PAGES["dcgm"](READINGS)):
        labels = re.search(pattern, text, re.MULTILINE)
        assert labels is not None
        order.append(re.findall(r'(\w+)="', labels[1]))
    assert order[0] == order[1]


def test_dcgm_values_are_the_clusters_in_dcgms_units() -> None:
    page, gpu = PAGES["dcgm"](READINGS), LAYOUT.gpus[8 + 3]
    at, gpus = 8 + 3, READINGS.gpus
    assert gpu.device == "node2"
    assert value(page, "DCGM_FI_DEV_GPU_TEMP", UUID=gpu.uuid) == gpus.celsius[at]
    assert value(page, "DCGM_FI_DEV_GPU_UTIL", UUID=gpu.uuid) == round(gpus.utilization[at] * 100)
    assert value(page, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", UUID=gpu.uuid) == gpus.energy_joules[at] * 1000
    assert value(page, "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", UUID=gpu.uuid) == pytest.approx(
        gpus.tensor_active[at], abs=1e-6
    )
    assert value(page, "DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN_NS", UUID=gpu.uuid) == gpus.throttle_ns[at, 2]


def test_a_gpu_that_fell_off_the_bus_has_no_line() -> None:
    readings = filled_readings(LAYOUT)
    readings.gpus.present[8 + 3] = False
    page = DcgmPage(LAYOUT, "node2").render(readings)
    assert LAYOUT.gpus[8 + 3].uuid not in page
    assert LAYOUT.gpus[8 + 4].uuid in page
    readings.gpus.present[:] = False
    assert DcgmPage(LAYOUT, "node2").render(readings) == ""


def test_node_values_are_the_clusters() -> None:
    page, at = PAGES["node"](READINGS), LAYOUT.nic_index["node2", "mlx5_3"]
    nics = READINGS.nics
    port = {"device": "mlx5_3", "port": "1"}
    assert value(page, "node_infiniband_np_cnp_packets_sent_total", **port) == nics.cnp_sent[at]
    assert value(page, "node_infiniband_link_downed_total", **port) == np.ceil(nics.flaps[at] / 2)
    assert value(page, "node_network_carrier_changes_total", device="mlx5_3") == nics.flaps[at] > 1
    assert value(page, "node_infiniband_rate_bytes_per_second", **port) == nics.speed[at] // 8
    assert value(page, "node_infiniband_state_id", **port) == 4
    assert value(page, "node_ethtool_received_prio3_pause", device="mlx5_3") == nics.pause_frames[at, 3, RX]
    assert value(page, "node_disk_written_bytes_total") == READINGS.hosts.disk_written_bytes[1]


def test_lustre_values_are_the_clusters() -> None:
    page = PAGES["lustre_server"](READINGS)
    storage = READINGS.storage
    assert value(page, "lustre_read_bytes_total", target="scratch-OST0001") == storage.read_bytes[1]
    assert value(page, "lustre_write_samples_total", target="scratch-OST0001") == storage.writes[1]
    assert "OST0002" not in page  # another server's
    assert (
        value(PAGES["lustre_client"](READINGS), "lustre_client_stats", operation="read")
        == READINGS.hosts.lustre_reads[1]
    )


def test_io_times_keep_operations_and_their_time_and_restart_with_the_counters() -> None:
    storage = filled_readings(LAYOUT).storage
    storage.reads[:], storage.writes[:] = 1000, 0
    storage.read_s[:], storage.write_s[:] = 1000 * 0.005, 0
    times = IoTimes(len(LAYOUT.targets))
    times.observe(storage)
    storage.reads[:] += 500
    storage.read_s[:] += 500 * 0.2
    times.observe(storage)
    midpoints_s = 0.75e-3 * np.array(BUCKETS_MS)
    assert times.counts[0, :, 0].sum() == pytest.approx(1500)
    assert times.counts[0, :, 0] @ midpoints_s == pytest.approx(5 + 100)
    storage.reads[0], storage.read_s[0] = 10, 0.05
    times.observe(storage)
    assert times.counts[0, :, 0].sum() == pytest.approx(10)
    assert times.counts[1, :, 0].sum() == pytest.approx(1500)


def test_slurm_names_the_nodes_of_a_job_as_the_real_schema_does() -> None:
    real = json.loads((SAMPLES / "slurm" / "squeue_out.json").read_text())
    document = json.loads(jobs_document(READINGS))
    job = document["jobs"][0]
    assert job["job_id"] == 4711
    assert job["nodes"] == "node[1-3]"
    assert job["job_state"] == ["RUNNING"]
    assert job["start_time"] == {"set": True, "infinite": False, "number": READINGS.now_ns // NS_PER_S - 60}
    known = {key for one in real["jobs"] for key in one}
    assert set(job) <= known


def test_pages_do_not_change_the_readings() -> None:
    fresh: Readings = filled_readings(LAYOUT)
    for render in PAGES.values():
        render(READINGS)
    assert np.array_equal(READINGS.nics.bytes, fresh.nics.bytes)


def test_rdma_and_the_kernel_are_counted_apart() -> None:
    """As mlx5 does of Ethernet ports: RDMA by the InfiniBand class, the rest by the interface."""
    page, nic = PAGES["node"](READINGS), LAYOUT.device_nics["node2"].start
    name = LAYOUT.nics[nic].name
    for way, infiniband, network in ((RX, "received", "receive"), (TX, "transmitted", "transmit")):
        rdma = value(page, f"node_infiniband_port_data_{infiniband}_bytes_total", device=name)
        kernel = value(page, f"node_network_{network}_bytes_total", device=name)
        assert rdma == READINGS.nics.prio_bytes[nic, LOSSLESS, way]
        assert kernel == READINGS.nics.prio_bytes[nic, OTHER, way]
        assert rdma != kernel
