"""``make dataset``: a labelled set of RoCE counters during faults, as Parquet, for anybody who works on detection."""
