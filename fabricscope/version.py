"""The version of the program, from its package."""

from importlib.metadata import version

VERSION = version("fabricscope")
