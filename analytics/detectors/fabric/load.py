"""What ports carry. One whose job waits for something else is neither paused nor loses frames, broken or not."""

from analytics.view.tick_view import Column, TickView

SENT = ("fabric_port_transmit_bytes_total", "ib_port_transmit_bytes_total")
RECEIVED = ("fabric_port_receive_bytes_total", "ib_port_receive_bytes_total")


def carried(view: TickView, metrics: tuple[str, ...]) -> Column:
    """Bytes a second of switch ports and adapters, in one direction: ``SENT`` or ``RECEIVED``."""
    return view.joined([view.column(metric) for metric in metrics])
