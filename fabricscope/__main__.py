"""``python -m fabricscope``."""

from fabricscope.cli import main

main()
