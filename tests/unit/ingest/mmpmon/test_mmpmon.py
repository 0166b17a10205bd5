"""mmpmon: a real output, the forms of its answers, what is none, and a program that prints them."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from common.errors import BadInput
from common.units import NS_PER_S
from ingest.collectors.base import CollectorContext
from ingest.collectors.canonical_samples import TargetSamples, Values
from ingest.collectors.mmpmon.collector import MmpmonCollector
from ingest.collectors.mmpmon.config import Config
from ingest.collectors.mmpmon.parse import parse_answers, values_of
from ingest.ledger import Ledger
from telemetry.samples import DownReason
from telemetry.series import series_key
from tests.ledgers import assert_accounted
from tests.samples import SAMPLES
from tests.unit.ingest.exposition.mapped import canonical

NOW_NS = 1_760_000_000 * NS_PER_S
RAW = SAMPLES / "storage" / "gpfs_mmpmon_raw.txt"
COUNTS = "_br_ 6291456 _bw_ 314572800 _oc_ 10 _cc_ 16 _rdc_ 101 _wc_ 300 _dir_ 7 _iu_ 2"


def line(request: str = "_io_s_", node: str = "node1", rc: int = 0, rest: str = COUNTS) -> str:
    return f"{request} _n_ 199.18.1.8 _nn_ {node} _rc_ {rc} _t_ 1066660148 _tu_ 407431 {rest}\n"


def fs_line(fs: str = "gpfs1", **other: Any) -> str:
    return line("_fs_io_s_", rest=f"_cl_ cl1 _fs_ {fs} _d_ 5 {COUNTS}", **other)


NOTHING_MOUNTED = line("_fs_io_s_", rc=1, rest="_cl_ - _fs_ -")


def series(values: Values) -> dict[str, float]:
    return TargetSamples("mmpmon/node1", "node1", "mmpmon", 0).read(values).by_series()


def read(*lines: str, hosts: dict[str, str] | None = None) -> dict[str, float]:
    return series(values_of(parse_answers("".join(lines).encode())[0], "node1", hosts or {}))


def key(metric: str, device: str = "node1", **labels: str) -> str:
    return series_key(metric, {"device": device, "system": "gpfs", "side": "client", **labels})


def test_a_real_output_gives_what_gpfs_exporter_makes_of_it() -> None:
    answers, malformed = parse_answers(RAW.read_bytes())
    found = series(values_of(answers, "node1", {}))
    assert found.pop(key("storage_up")) == 1.0
    assert found == canonical("gpfs", (SAMPLES / "storage" / "gpfs_mmpmon.prom").read_text())
    assert malformed == 0


def test_the_sum_of_a_node_is_read_where_there_is_nothing_else() -> None:
    assert read(line())[key("storage_read_bytes_total")] == 6291456
    both = read(line(), fs_line())
    assert both[key("storage_read_bytes_total", fs="gpfs1")] == 6291456
    assert key("storage_read_bytes_total") not in both, "a sum over file systems must not count twice"


def test_a_node_that_has_mounted_nothing_answers() -> None:
    assert read(NOTHING_MOUNTED) == {key("storage_up"): 1.0}


def test_several_nodes_have_names_of_their_own_or_of_the_settings() -> None:
    found = read(fs_line(node="n1.ib"), fs_line(node="n2.ib"), hosts={"n1.ib": "n1"})
    assert {key("storage_up", "n1"), key("storage_up", "n2.ib")} <= set(found)


@pytest.mark.parametrize(
    "broken",
    [
        "mmpmon node 199.18.1.8 name node1 io_s OK\n",  # without -p
        line("_ver_"),
        fs_line(rc=22),
        line(rest=COUNTS.replace("6291456", "-1")),
        line(rest=COUNTS.replace("6291456", "1" * 30)),
        line(rest=COUNTS.removesuffix("_iu_ 2")),
        line(rest=COUNTS + " _xx_"),
        line(node="x" * 2000),
        line("_fs_io_s_"),
        fs_line().replace("_fs_io_s_", "_io_s_"),
    ],
)
def test_what_is_no_answer_is_counted_and_the_others_are_used(broken: str) -> None:
    answers, malformed = parse_answers((broken + fs_line()).encode())
    assert ([answer.fs for answer in answers], malformed) == (["gpfs1"], 1)
    with pytest.raises(BadInput, match="expected answers as of mmpmon -p"):
        parse_answers(broken.encode())


@pytest.fixture
def context() -> Iterator[CollectorContext]:
    workers = ThreadPoolExecutor(1)
    yield CollectorContext(Ledger(0), lambda: 7, workers)
    workers.shutdown()


@pytest.mark.parametrize(
    ("settings", "down"),
    [
        ({"command": ["cat", str(RAW)]}, None),
        ({"file": RAW}, None),
        ({"command": ["false"]}, DownReason.CLOSED),
        ({"command": ["echo", "mmpmon: not root"]}, DownReason.BAD_FORMAT),
        ({"file": Path("/nowhere")}, DownReason.REFUSED),
        ({"file": RAW, "body_bytes_max": 10}, DownReason.TOO_LARGE),
    ],
)
async def test_what_a_program_or_a_file_holds(settings: Any, down: Any, context: CollectorContext) -> None:
    collector = MmpmonCollector(Config(device="node1", timeout_s=60, **settings), context)
    batch = await collector.collect(NOW_NS)
    assert (collector.name, batch.collection.down, batch.values.size) == ("mmpmon/node1", down, 0 if down else 17)
    assert_accounted(context.ledger, [batch])
