"""Slow change: what fills up or wears out, and when it will reach its limit. See docs/trend.md."""
