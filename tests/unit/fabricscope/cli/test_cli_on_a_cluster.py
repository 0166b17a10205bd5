"""The commands that need telemetry, as people type them, on a small simulated cluster."""

import json
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from fabricscope.settings import load_settings
from tests.waiting import DEADLINE_S

ADDRESS_OFFSET = 43
LISTS = 2  # the inventory, and the jobs of Slurm
COLLECT_S = (4, 10, 30, 90)
RECORD_S, SAMPLES_MIN = (6, 20, 60), 1000


@dataclass(frozen=True)
class SimulatedCluster:
    """A simulator that runs, and an ingest stage that collects from it. recording: made by ``record``."""

    settings: Path
    recording: Path
    recorder: subprocess.CompletedProcess[str]


def fabricscope(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fabricscope", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)


def start(log: Path, *arguments: object) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        command = [sys.executable, "-m", "fabricscope", *map(str, arguments)]
        return subprocess.Popen(command, stdout=output, stderr=output)


def wait_for(path: Path, words: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not (path.exists() and words in path.read_text()):
        assert time.monotonic() < deadline, f"waited {DEADLINE_S} s for {words!r} in {path}"
        time.sleep(0.05)


def wait_until_it_simulates() -> None:
    """The first steps of the model are made: where it has never run, it is compiled before."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        assert time.monotonic() < deadline, f"waited {DEADLINE_S} s for the simulation to begin"
        try:
            with urllib.request.urlopen(f"http://127.4.{ADDRESS_OFFSET}.1:6821/clock", timeout=5) as answer:
                clock = json.load(answer)
        except OSError:
            clock = {"now_ns": 0, "start_ns": 0}
        if clock["now_ns"] > clock["start_ns"]:
            return
        time.sleep(0.05)


def collect_until(words: str, status: int, *arguments: object) -> str:
    """What ``collect`` prints once it exits with this status and these words: a busy machine needs longer for that."""
    for seconds in COLLECT_S:
        answer = fabricscope("collect", *arguments, "--for", f"{seconds}s")
        if words in answer.stdout and answer.returncode == status:
            return answer.stdout
    pytest.fail(f"no {words!r} with status {status} in {COLLECT_S[-1]} s: {answer.stdout}{answer.stderr}")


def record_enough(folder: Path, settings: Path) -> SimulatedCluster:
    """The first recording with more than a few collections: on a busy machine they begin late."""
    for seconds in RECORD_S:
        recording = folder / f"recording-{seconds}s"
        recorder = fabricscope("record", recording, "--config", settings, "--last", "1m", "--for", f"{seconds}s")
        if (samples_printed(recorder) or 0) > SAMPLES_MIN:
            break
    return SimulatedCluster(settings, recording, recorder)


def samples_printed(recorder: subprocess.CompletedProcess[str]) -> int | None:
    printed = re.search(r"^([\d,]+) samples recorded$", recorder.stderr, re.MULTILINE)
    return int(printed[1].replace(",", "")) if printed else None


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimulatedCluster]:
    folder = tmp_path_factory.mktemp("cluster")
    settings, log = folder / "fabricscope.yaml", folder / "ingest.log"
    options = ("--hosts", 2, "--interval", "1s", "--address-offset", ADDRESS_OFFSET, "--config-out", settings)
    running = [start(folder / "simulate.log", "simulate", *options)]
    try:
        wait_for(settings, "inventory")
        wait_until_it_simulates()
        document = yaml.safe_load(settings.read_text())
        document["global"]["metrics_ports"] = {"ingest": 0}
        settings.write_text(yaml.safe_dump(document))
        running.append(start(log, "ingest", "--config", settings))
        wait_for(log, "stage runs")
        yield record_enough(folder, settings)
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(DEADLINE_S)


@pytest.fixture(scope="module")
def recorded(cluster: SimulatedCluster) -> int:
    """Samples in the recording, as ``record`` printed them."""
    assert cluster.recorder.returncode == 0, cluster.recorder.stderr
    printed = samples_printed(cluster.recorder)
    assert printed is not None, cluster.recorder.stderr
    return printed


def test_record_writes_as_many_samples_as_it_prints(cluster, recorded):
    manifest = json.loads((cluster.recording / "manifest.json").read_text())
    assert manifest["cluster"] == "simulated"
    assert recorded == sum(part["samples"] for part in manifest["slices"]) > SAMPLES_MIN


def test_replay_reads_all_of_it(cluster, recorded, tmp_path):
    answer = fabricscope("replay", cluster.recording, "--out", tmp_path, "--output", "json")
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["samples"] == recorded
    assert (tmp_path / "findings.jsonl").exists()
    answer = fabricscope("replay", cluster.recording, "--out", tmp_path)
    assert answer.returncode == 0
    assert f"{recorded:,} samples" in " ".join(answer.stdout.split())


def test_collect_shows_every_target(cluster):
    settings = load_settings(cluster.settings).ingest
    scraped = [target for job in settings.scrape_configs for group in job.static_configs for target in group.targets]
    switches = [target for job in settings.gnmi_configs for target in job.targets]
    targets = len(scraped) + len(switches) + LISTS
    collect_until(f"{targets} of {targets} targets answer", 0, "--config", cluster.settings, "--samples", 0)


def test_collect_prints_json_of_one_target(cluster):
    job = load_settings(cluster.settings).ingest.scrape_configs[0]
    name = f"{job.job_name}/{job.static_configs[0].targets[0]}"
    answer = fabricscope("collect", "--config", cluster.settings, "--target", name, "--output", "json")
    (only,) = json.loads(answer.stdout)
    assert (only["target"], only["up"], only["problem"]) == (name, True, "")
    assert only["samples"] > len(only["examples"]) == 3


def test_collect_says_that_no_target_is_called_so(cluster):
    answer = fabricscope("collect", "--config", cluster.settings, "--target", "nonsense")
    assert (answer.returncode, answer.stdout) == (1, "")
    assert "no target is called nonsense; without --target all are listed" in answer.stderr


def test_collect_fails_when_a_target_is_down(cluster, tmp_path):
    document = yaml.safe_load(cluster.settings.read_text())
    dead = {"targets": ["127.0.0.1:1"], "labels": {"device": "node9"}}
    document["scrape_configs"] = [{**document["scrape_configs"][0], "static_configs": [dead]}]
    document["global"]["data_dir"] = str(tmp_path / "data")
    path = tmp_path / "dead.yaml"
    path.write_text(yaml.safe_dump({key: document[key] for key in ("global", "scrape_configs")}))
    assert "no: " in collect_until("node9", 1, "--config", path)
    assert not (tmp_path / "data").exists()  # the spool is that of the stage that runs
