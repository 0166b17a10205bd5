"""Slow change: what fills up or wears out, and when it reaches its limit. See docs/trend.md."""
