"""What the bus, the recording and the servers outside have, read without the code under test.

The formats are those that ``telemetry/codec/batch.py``, ``bus/embedded/packing.py``, ``recordings/format.py`` and
Kafka's documentation of its log describe.
"""
