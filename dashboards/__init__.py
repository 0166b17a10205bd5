"""Grafana boards as code, and the NOC page. Only read: they import nothing but the metric catalogue."""
