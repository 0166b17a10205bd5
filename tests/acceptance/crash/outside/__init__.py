"""Servers in processes of their own that count what passes: pages, remote writes, notifications."""
