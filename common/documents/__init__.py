"""YAML and JSON that others write: bounded, with one meaning for each key, and errors that name their place."""
