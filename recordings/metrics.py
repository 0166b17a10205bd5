"""Own metrics of the recorder."""

from prometheus_client import Counter

RECEIVED = Counter("fabricscope_recorder_records_received_total", "Records read from the bus.", ["topic"])
DROPPED = Counter("fabricscope_recorder_records_dropped_total", "Records that were not used.", ["reason"])
CORRUPT = Counter("fabricscope_recorder_records_corrupt_total", "Records that could not be read.", ["topic", "reason"])
GAPS = Counter("fabricscope_recorder_gaps_total", "Times that retention on the bus had passed our position.")
SAMPLES = Counter("fabricscope_recorder_samples_recorded_total", "Samples in slices that are on the disk.")
