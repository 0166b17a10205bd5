"""What nccl-tests print or write as JSON: it is read, or refused for a reason of the list; what is read are series."""

from ingest.collectors.canonical_samples import TargetSamples, Values
from ingest.collectors.nccl_tests.folder import parse_file
from ingest.collectors.nccl_tests.result import Refusal, Result
from telemetry.series import is_series_key

SEEDS = (
    b"# Collective test starting: all_reduce_perf\n# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor)\n"
    b"#  Rank  0 Group  0 Pid   4100 on      node1 device  0 [0000:1b:00] NVIDIA H100\n"
    b"#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong\n"
    b"  8192  2048  float  sum  -1  21.50  0.38  0.57  0  22.30  0.37  1.2e+06  N/A\n"
    b"# Out of bounds values : 0 OK\n",
    b'{"args":["reduce_scatter_perf"],"config":{"nthreads":1,"ngpus":2,"devices":[{"rank":0,"group":0,"hostname":"a"}]},'
    b'"results":[{"count":8,"type":"half","redop":"sum","root":"-1","in_place":{"time":1.5,"bus_bw":"nan","nwrong":null},'
    b'"out_of_place":{"time":1.5,"bus_bw":2.5,"nwrong":1}}],"out_of_bounds":{},"end_time":""}',
)


def target(data: bytes) -> None:
    for test in parse_file(data, 50, "all_gather_perf.txt"):
        if isinstance(test, Result):
            found = TargetSamples("nccl-tests", "node1", "nccl_tests", 0).read(Values.of(test.samples({})))
            assert all(map(is_series_key, found.layout.table.keys))
        else:
            assert test.reason in set(Refusal)
