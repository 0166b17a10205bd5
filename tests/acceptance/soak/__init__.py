"""``make soak``: good targets beside five times as many hostile ones, and all stages as processes on a real Kafka.

For an hour, or as long as asked, nothing of what the product promises may change for the good ones.
"""
