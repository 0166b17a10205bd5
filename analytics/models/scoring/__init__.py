"""Anomaly scores of single series, in one pass, with one alert level for all: see ``docs/score-model.md``."""
