"""``make crash``: every stage, and a Kafka broker, is killed at random moments, and somebody outside keeps count.

On one side are pages whose values say which page of which target they are, on the other the bus, read without our
client and codec, a remote-write receiver and two receivers of notifications. All of them are processes of their own.
``judge.py`` and ``judge_pages.py`` say what is an error, and what is a repetition that at-least-once delivery allows.
"""
