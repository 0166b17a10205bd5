"""Metrics that devices and OpenTelemetry collectors push over OTLP/gRPC."""
