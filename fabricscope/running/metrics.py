"""Own metrics of every process: its settings, named as Prometheus names its own, and its event loop."""

from prometheus_client import Counter, Gauge

RELOAD_SUCCESSFUL = Gauge(
    "fabricscope_config_last_reload_successful",
    "1 when the settings could be used when they were read last, at the start or by a reload, else 0.",
)
RELOAD_SUCCESS_TIMESTAMP = Gauge(
    "fabricscope_config_last_reload_success_timestamp_seconds",
    "When settings that can be used were read last, in seconds since the Unix epoch.",
)
LOOP_BLOCKS = Counter(
    "fabricscope_process_loop_blocks_total", "Times that the event loop did not run for seconds; the log names where."
)
LOOP_BLOCKED_SECONDS = Counter(
    "fabricscope_process_loop_blocked_seconds_total", "How long it did not run, in all of these blocks that are over."
)
