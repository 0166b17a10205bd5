"""Metrics that devices and OpenTelemetry collectors push over OTLP, carried by gRPC or HTTP."""
