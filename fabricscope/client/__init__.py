"""The HTTP API for programs in Python, without event loops.

>>> from fabricscope.client import Client
>>> with Client("https://fabricscope.example:9099", token_file="robot.token") as api:  # doctest: +SKIP
...     for incident in api.incidents(state="firing", severity="critical"):
...         print(incident.onset, incident.title, incident.blast.gpus.count)
"""

from fabricscope.client.client import Client
from fabricscope.client.errors import ApiError

__all__ = ["ApiError", "Client"]
