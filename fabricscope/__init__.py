"""The program: command line, settings, HTTP API, and the wiring of stages into processes."""
