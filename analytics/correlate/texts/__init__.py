"""Texts of an incident for people."""
