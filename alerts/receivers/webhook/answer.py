"""What the body of an answer with status 2xx says. Pure."""

import orjson

_FAILED = frozenset({"error", "fail", "failed", "failure"})


def says_failure(body: bytes) -> bool:
    """Whether it is a JSON object that says in one of the usual ways that nothing was accepted.

    >>> [says_failure(body) for body in (b'{"ok": false}', b'{"status": "error"}', b'{"error": "no such channel"}')]
    [True, True, True]
    >>> [says_failure(body) for body in (b"ok", b"", b'{"ok": true, "error": null}', b'{"status": "queued"}')]
    [False, False, False, False]
    """
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        return False
    if not isinstance(answer, dict):
        return False
    status = answer.get("status")
    failed = isinstance(status, str) and status.lower() in _FAILED
    return failed or answer.get("ok") is False or answer.get("success") is False or bool(answer.get("error"))
