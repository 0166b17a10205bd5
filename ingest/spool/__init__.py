"""What the bus does not take yet, on the disk: segments of records, first in, first out."""
