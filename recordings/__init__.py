"""The flight recorder: telemetry, topology and changes as verified Parquet, and the way back."""
