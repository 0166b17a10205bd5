"""What a command does not need is not loaded: libraries of seconds stay out of commands of a moment."""

import subprocess
import sys
from pathlib import Path

import pytest

from fabricscope.stages import Stage
from tests.waiting import DEADLINE_S

HEAVY = {
    *("numba", "polars", "grpc", "sklearn", "grafanalib", "scipy", "matplotlib", "aiokafka", "pandas", "numpy"),
    *("fastapi", "uvicorn", "aiohttp"),
}
COMMAND = """
import runpy, sys
sys.argv = ["fabricscope", *sys.argv[1:]]
try:
    runpy.run_module("fabricscope", run_name="__main__")
finally:
    print("loaded", *sys.modules)
"""
STAGE = """
import sys
from pathlib import Path
import fabricscope.running.process
from bus.open import open_bus
from fabricscope.settings import load_settings
from fabricscope.stages import Stage, build
settings = load_settings(Path(sys.argv[2]))
build(Stage(sys.argv[1]), settings, open_bus(settings.bus))
print("loaded", *sys.modules)
"""
SETTINGS = """\
global: {data_dir: FOLDER}
alerting: {receivers: [{type: webhook, url: "http://127.0.0.1:1"}]}
remote_write: [{url: "http://127.0.0.1:1"}]
recording: {path: FOLDER/recording}
scrape_configs: [{job_name: nodes, source: node_exporter, static_configs: [{targets: ["127.0.0.1:1"]}]}]
gnmi_configs: [{job_name: switches, source: openconfig, targets: [{address: "127.0.0.1:1", device: leaf1}]}]
"""
OURS = {"ingest", "analytics", "alerts", "export", "recordings", "simulator", "dashboards", "evaluation"}
# What each stage may load of ours (models of settings aside) and of the libraries that take long.
STAGES: dict[Stage, set[str]] = {
    Stage.INGEST: {"ingest", "numba", "scipy", "polars", "numpy", "aiohttp"},  # numba loads scipy where it finds it
    Stage.ANALYTICS: {"analytics", "numba", "scipy", "polars", "numpy"},
    Stage.ALERTS: {"alerts", "aiohttp"},
    Stage.EXPORT: {"export", "numba", "scipy", "polars", "numpy", "aiohttp"},
    Stage.RECORDER: {"recordings", "polars", "numpy"},
    Stage.API: {"dashboards", "polars", "numpy", "fastapi", "uvicorn"},
}


def loaded(code: str, *arguments: object) -> list[str]:
    """Names of the modules at the end of the code, in a process of its own."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    last = answer.stdout.splitlines()[-1] if answer.stdout else ""
    assert last.startswith("loaded "), answer.stderr
    return last.split()[1:]


def heavy(modules: list[str]) -> set[str]:
    return {module.partition(".")[0] for module in modules} & HEAVY


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    path = tmp_path / "fabricscope.yaml"
    path.write_text(SETTINGS.replace("FOLDER", str(tmp_path)))
    return path


@pytest.mark.parametrize("command", ["--help", "version", "config print", "check config"])
def test_what_only_reads_arguments_or_settings_loads_nothing_that_takes_long(command, settings):
    arguments = [*command.split(), *([settings] if command == "check config" else [])]
    modules = loaded(COMMAND, *arguments)
    assert heavy(modules) == set()
    assert {"structlog", "stamina", "alerts.decision"} & set(modules) == set()


@pytest.mark.parametrize(
    "command",
    [
        *(
            "run",
            "ingest",
            "incidents list",
            "incidents show",
            "targets",
            "changes",
            "record",
            "replay",
            "simulate",
            "collect",
            "detect",
            "explain",
        ),
        *("change add", "token create", "token list", "check config", "check dashboards", "config print"),
    ],
)
def test_the_help_of_a_command_loads_nothing_of_its_work(command):
    assert heavy(loaded(COMMAND, *command.split(), "--help")) == set()


def test_detect_loads_what_it_scores_with_and_nothing_else_that_takes_long(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("time,value\n2024-01-01,1\n2024-01-02,2\n")
    modules = loaded(COMMAND, "detect", path, "--output", tmp_path / "scored.csv")
    assert heavy(modules) == {"numba", "polars", "numpy"}
    # numba looks for scipy, yaml and cffi, and the bar of a longer run is drawn by rich: a sixth of the time.
    assert {"yaml", "cffi", "rich", "structlog", "stamina", "analytics.detectors"} & set(modules) == set()


def test_what_was_loaded_for_detect_alone_is_not_hidden_from_what_comes_later():
    code = "from common.load_alone import load_alone; load_alone(); import yaml, scipy.linalg, sys; "
    assert {"yaml", "scipy.linalg", "numba"} <= set(loaded(code + "print('loaded', *sys.modules)"))


def test_no_garbage_is_looked_for_while_detect_loads_and_as_ever_afterwards():
    code = """
import gc
from common.garbage import all_kept
with all_kept():
    made = [[] for _ in range(100_000)]
    print(gc.isenabled(), gc.get_freeze_count() > 100_000)
print(gc.isenabled(), gc.get_freeze_count() > 100_000)
"""
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=DEADLINE_S, check=True
    )
    assert answer.stdout.split() == ["False", "False", "True", "True"]


def test_checking_the_boards_loads_the_libraries_of_boards_alone():
    assert heavy(loaded(COMMAND, "check", "dashboards")) == {"grafanalib"}


@pytest.mark.parametrize("stage", Stage)
def test_a_stage_loads_its_own_libraries_and_no_other_stage(stage, settings):
    modules = loaded(STAGE, stage.value, settings)
    allowed = STAGES[stage]
    assert heavy(modules) <= allowed
    services = {module.partition(".")[0] for module in modules if module.endswith(".service")}
    assert services & OURS <= allowed
