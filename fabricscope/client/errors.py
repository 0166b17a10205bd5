"""What a client can be answered instead of what it asked for."""

from common.errors import Unavailable


class ApiError(Unavailable):
    """The API answered with an error. status: of HTTP. error_type, error: in its words; see docs/api.md.

    That nobody answered at all is ``Unavailable``.
    """

    def __init__(self, place: str, status: int, error_type: str, error: str, after_s: float | None = None) -> None:
        hint = "; expected another token" if status == 403 else "; expected a token" if status == 401 else ""
        super().__init__(f"{place}: {status} {error_type}: {error}{hint}", after_s)
        self.status, self.error_type, self.error = status, error_type, error
