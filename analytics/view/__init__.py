"""The read-only view of all state at the end of a tick: values, their quality, and what is derived from them."""
