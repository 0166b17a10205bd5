"""The commands of ``fabricscope``."""
