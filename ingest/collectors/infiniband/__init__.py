"""An InfiniBand fabric by its own tools: ibnetdiscover and perfquery."""
