"""Prometheus exposition over HTTP: GPUs, hosts, storage, and any other exporter by mapping alone."""
