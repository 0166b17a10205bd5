"""The dead man's switch: a request to a service outside, which pages when the requests stop."""
