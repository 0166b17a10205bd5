"""The fabric as a fluid: queues, ECN marks, pauses, senders that slow down, and routes over the spines."""
