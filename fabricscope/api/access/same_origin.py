"""Whether a request comes from one of our own pages."""

from urllib.parse import urlsplit

from fastapi import Request


def is_same_origin(request: Request) -> bool:
    """By what a browser says and a page cannot choose. False for a client that says nothing.

    A cookie cannot tell: it goes to every port of a host, so a page of another port sends ours along, whatever its
    ``SameSite``. Browsers send ``Sec-Fetch-Site`` over TLS and to the loopback alone; elsewhere ``Origin`` counts,
    which comes with every request that changes something. Who forges ``Host`` is no browser, and has nobody's cookie.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = urlsplit(request.headers.get("origin", ""))
    return bool(origin.netloc) and origin.netloc == request.headers.get("host")
