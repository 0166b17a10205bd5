"""The report of the stage counts what is inferred, so that the API shows it."""

from analytics.config import AnalyticsConfig
from analytics.worker import Worker
from telemetry import topics
from telemetry.series import series_key
from tests.unit.analytics.small_cluster import CONFIG, batch, clockwork, run, table


def test_the_report_counts_what_is_inferred() -> None:
    worker = Worker(AnalyticsConfig(engine=CONFIG), topics.TOPOLOGY)
    assert not any(name.startswith("inferred_") for name in worker.report(1).details)
    of = table("node1", [series_key("gpu_power_watts", {"device": "node1", "gpu": f"GPU-{g}"}) for g in range(2)])
    run(worker.engine, [batch(of, 0, [300.0, 310.0]), *clockwork(0, range(3))])
    details = worker.report(1).details
    found = {name: count for name, count in details.items() if name.startswith("inferred_")}
    assert found == {"inferred_device": 2, "inferred_gpu": 2}  # and the clock
