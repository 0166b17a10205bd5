"""Settings that are called otherwise now: the old keys are accepted for one release, with a hint in the log."""

from collections.abc import Mapping


def accept_renamed(settings: object, names: Mapping[str, str]) -> object:
    """``settings`` with the old keys of ``names`` under their new ones; ValueError when both are given.

    For a ``model_validator(mode="before")``; what are no keys with values is left for pydantic to refuse.
    """
    if not isinstance(settings, dict):
        return settings
    found = {old: new for old, new in names.items() if old in settings}
    for old, new in found.items():
        if new in settings:
            raise ValueError(f"{old} is called {new} now: give the new key alone")
        import structlog  # here, as settings are read where nothing else is logged

        structlog.get_logger(__name__).warning("setting is called otherwise now", key=old, instead=new)
    return {found.get(key, key): value for key, value in settings.items()}
