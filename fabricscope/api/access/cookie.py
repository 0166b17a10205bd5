"""The cookie of a session."""

from fastapi import Request, Response

from common.units import NS_PER_S
from fabricscope.api.access.sessions import Session
from fabricscope.api.access.tokens import Token

_OVER_TLS, _IN_THE_CLEAR = "__Host-fabricscope", "fabricscope"
"""A browser takes the first name over TLS alone, and from no other host of the same domain."""
NAME_COOKIE = "fabricscope_name"
"""For the page, which cannot read the other one: name of the token that the browser is logged in with."""


def session_id(request: Request) -> str:
    """'' without a cookie of ours."""
    return request.cookies.get(_OVER_TLS) or request.cookies.get(_IN_THE_CLEAR, "")


def set_session(
    request: Request, response: Response, identity: str, session: Session, token: Token, now_ns: int
) -> None:
    """Until the session ends.

    ``lax``: a link from a chat to an incident finds the person logged in, which ``strict`` would not. From elsewhere
    the cookie comes along only where nothing is changed; what changes something asks for the same origin besides.
    """
    secure, lasts_s = _is_over_tls(request), (session.expires_ns - now_ns) // NS_PER_S
    name = _OVER_TLS if secure else _IN_THE_CLEAR
    response.set_cookie(name, identity, max_age=lasts_s, path="/", secure=secure, httponly=True, samesite="lax")
    response.set_cookie(NAME_COOKIE, token.name, max_age=lasts_s, path="/", secure=secure, samesite="lax")


def clear_session(response: Response) -> None:
    """Takes all that ``set_session`` has set."""
    response.delete_cookie(_OVER_TLS, path="/", secure=True, httponly=True, samesite="lax")
    response.delete_cookie(_IN_THE_CLEAR, path="/", httponly=True, samesite="lax")
    response.delete_cookie(NAME_COOKIE, path="/", samesite="lax")


def _is_over_tls(request: Request) -> bool:
    """Also where a proxy ends TLS: its browser names the origin. Who lies about it gets a cookie of no use."""
    return request.scope["scheme"] == "https" or request.headers.get("origin", "").startswith("https://")
