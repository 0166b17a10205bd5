"""Settings read again on request; SIGHUP does the same."""

from typing import Protocol

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.exceptions import HTTPException

from common.errors import ConfigError
from fabricscope.api.problem import may_answer
from fabricscope.api.routes.changes import TOKEN
from fabricscope.api.views.view import View

router = APIRouter(tags=["settings"])


class Reloading(Protocol):
    """How this process reads its settings again."""

    def read(self) -> list[str]:
        """The keys that have changed. ConfigError, and nothing changes, when the settings cannot be used."""
        ...

    def everywhere(self, changed: list[str]) -> None:
        """Starts what they concern again."""
        ...


class Reloaded(View):
    """Keys of the settings that have changed, each with its section. What they concern starts again with them."""

    changed: tuple[str, ...] = Field(examples=[["alerting.receivers"]])


@router.post("/-/reload", responses=may_answer(400, 411, 413, 415, 503), dependencies=[TOKEN])
async def reload_settings(request: Request) -> Reloaded:
    """Read the settings file again: all stages of `fabricscope run`, else those of the API alone.

    Needs a token with the scope ``admin``. 400 with file, line and column of each error: then the old settings stay.
    """
    reloading: Reloading | None = request.app.state.reloading
    if reloading is None:
        raise HTTPException(503, "this process has no settings file")
    try:
        changed = reloading.read()
    except ConfigError as error:
        raise HTTPException(400, str(error)) from error
    request.state.audited["changed"] = ", ".join(changed)
    reloading.everywhere(changed)
    return Reloaded(changed=tuple(changed))
