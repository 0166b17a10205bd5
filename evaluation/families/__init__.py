"""Families of clusters, work, faults and telemetry: trained on some, reported on others, judged by the first page."""
