"""What all answers have in common."""

from pydantic import AliasChoices, AliasGenerator, BaseModel, ConfigDict


def _in_record(name: str) -> AliasChoices:
    return AliasChoices(name, f"{name}_ns")


class View(BaseModel):
    """A record as the API answers it.

    Made of a record with ``model_validate``: a field takes what the record has under its name. ``onset_ns`` of the
    record is ``onset`` here, as RFC 3339; so is each time.
    """

    model_config = ConfigDict(
        frozen=True, from_attributes=True, alias_generator=AliasGenerator(validation_alias=_in_record)
    )
