"""Kafka topics that other collectors fill."""
