"""Recordings run again: what would the program have found?"""

from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from common.errors import BadInput
from fabricscope.api.problem import may_answer
from fabricscope.api.replays import NAME_PATTERN, Busy, Replay, Replays
from fabricscope.api.routes.changes import TOKEN

router = APIRouter(prefix="/api/v1", tags=["replays"], responses=may_answer(404, 422))


class ReplayRequest(BaseModel):
    """recording: its folder's name in ``recordings_dir``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    recording: Annotated[str, Field(pattern=NAME_PATTERN)]


@router.post("/replays", status_code=202, responses=may_answer(409, 411, 413, 415, 503), dependencies=[TOKEN])
async def start_replay(request: Request, wanted: ReplayRequest) -> Replay:
    """Run a recording through detection and correlation again, with the settings it was made with. It pages nobody.

    Needs a token with the scope ``replay``. 404 without ``recordings_dir`` or such a recording, 409 while one runs.
    """
    request.state.audited["recording"] = wanted.recording
    try:
        begun = _replays(request).start(wanted.recording)
    except BadInput as error:
        raise HTTPException(404, str(error)) from error
    except Busy:
        raise HTTPException(409, "a replay runs already") from None
    request.state.audited["id"] = begun.id
    return begun


@router.get("/replays")
async def list_replays(request: Request) -> list[Replay]:
    """The newest replays since the API started, at most 10, newest first."""
    return _replays(request).all()


@router.get("/replays/{replay_id}")
async def get_replay(request: Request, replay_id: str) -> Replay:
    """One replay; ``incidents`` are there once its state is ``done``."""
    found = _replays(request).get(replay_id)
    if found is None:
        raise HTTPException(404, f"no replay {replay_id}")
    return found


def _replays(request: Request) -> Replays:
    replays: Replays | None = request.app.state.replays
    if replays is None:
        raise HTTPException(404, "api.recordings_dir is not set")
    return replays
