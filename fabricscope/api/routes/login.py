"""Where a person logs in with a token, and out: a session for the browser, which cannot send a token by itself."""

import asyncio
import time

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, Response
from starlette.exceptions import HTTPException

from dashboards.noc import STATIC
from fabricscope.api.access.cookie import clear_session, set_session
from fabricscope.api.access.credentials import Caller
from fabricscope.api.access.sessions import Sessions

router = APIRouter(include_in_schema=False)  # programs bring their token with each request


async def show_login(_: Request) -> Response:
    """The form. It knows ``next``: a page of this API alone."""
    return FileResponse(STATIC / "login.html")


router.add_route("/login", show_login, methods=["GET"])


@router.post("/login", status_code=204)
async def log_in(request: Request) -> Response:
    """A session of the token in the header. 403 by a session: with that it would never end."""
    caller, sessions, now_ns = _caller(request), _sessions(request), time.time_ns()
    if caller.session:
        raise HTTPException(403, "a session begins with a token")
    lasts_s = request.app.state.session_s
    identity, session = await asyncio.to_thread(sessions.open, caller.token, lasts_s, now_ns)
    answer = Response(status_code=204)
    set_session(request, answer, identity, session, caller.token, now_ns)
    return answer


@router.post("/logout", status_code=204)
async def log_out(request: Request) -> Response:
    """Ends the session of the cookie."""
    await asyncio.to_thread(_sessions(request).close, _caller(request).session)
    answer = Response(status_code=204)
    clear_session(answer)
    return answer


def _caller(request: Request) -> Caller:
    caller = request.state.caller
    assert isinstance(caller, Caller)
    return caller


def _sessions(request: Request) -> Sessions:
    sessions = request.app.state.sessions
    assert isinstance(sessions, Sessions)
    return sessions
