"""Own metrics of the recorder."""

from prometheus_client import Counter

CONSUMED = Counter("fabricscope_recorder_records_consumed_total", "Records consumed from the bus.", ["topic"])
CORRUPT = Counter("fabricscope_recorder_records_corrupt_total", "Records that could not be decoded.", ["reason"])
GAPS = Counter("fabricscope_recorder_gaps_total", "Gaps: records that retention removed before they were recorded.")
SAMPLES = Counter("fabricscope_recorder_samples_recorded_total", "Samples in slices that are on the disk.")
