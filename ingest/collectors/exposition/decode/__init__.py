"""Scrape bodies in, columns out."""
