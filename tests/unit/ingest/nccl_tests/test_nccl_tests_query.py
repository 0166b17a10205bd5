"""The query of the README that compares jobs with their baseline, evaluated by Prometheus' own promtool."""

import json
import re
import subprocess
from pathlib import Path

import ingest.collectors.nccl_tests
from ingest.collectors.canonical_samples import TargetSamples, Values
from ingest.collectors.nccl_tests.folder import parse_file
from ingest.collectors.nccl_tests.result import Result
from tests.samples import SAMPLES

README = Path(ingest.collectors.nccl_tests.__path__[0]) / "README.md"
RESULTS = SAMPLES / "nccl" / "all_reduce_and_sendrecv_perf.txt"
JOB = (
    'nccl_bus_bandwidth_bytes_per_second{{communicator="DP 0",device="node1",index="{}",job_id="7",nodes="2",'
    'op="AllReduce",ranks="4",size="1-2GB"}}'
)


def query() -> str:
    (found,) = re.findall(r"```promql\n(.*?)```", README.read_text(), re.DOTALL)
    return " ".join(found.split())


def baseline() -> dict[str, float]:
    tests = (test for test in parse_file(RESULTS.read_bytes(), 100, RESULTS.name) if isinstance(test, Result))
    values = Values.of(sample for test in tests for sample in test.samples({}))
    return TargetSamples("nccl-tests", "node1", "nccl_tests", 0).read(values).by_series()


def test_each_job_has_the_share_of_its_baseline_that_it_reaches(tmp_path: Path) -> None:
    series = baseline() | {JOB.format(0): 0.4 * 65.49e9, JOB.format(1): 0.6 * 65.49e9}
    series[JOB.format(0).replace("1-2GB", "7-8GB")] = 1.0  # of a size without a baseline
    series[JOB.format(0).replace('nodes="2"', 'nodes="1"')] = 1.0  # over NVLink
    (tmp_path / "rules.yml").write_text(json.dumps({"groups": []}))
    case = {
        "interval": "1m",
        "input_series": [{"series": key, "values": f"{value!r}x2"} for key, value in series.items()],
        "promql_expr_test": [
            {
                "expr": f"round({query()}, 0.001)",
                "eval_time": "1m",
                "exp_samples": [
                    {
                        "labels": '{communicator="DP 0",job_id="7",nodes="2",op="AllReduce",ranks="4",size="1-2GB"}',
                        "value": 0.5,
                    }
                ],
            }
        ],
    }
    (tmp_path / "test.yml").write_text(json.dumps({"rule_files": ["rules.yml"], "tests": [case]}))
    done = subprocess.run(["promtool", "test", "rules", "test.yml"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
