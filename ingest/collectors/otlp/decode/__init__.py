"""From ExportMetricsServiceRequests to columns."""
