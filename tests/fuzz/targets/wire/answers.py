"""What receivers and targets of remote write answer: headers and body of an HTTP answer."""

from alerts.receivers.webhook.answer import says_failure
from common.http import RETRY_AFTER_S_MAX, HttpAnswer
from common.retry import retry_after_s

SEEDS = (
    b'120\n{"ok": false}',
    b'Wed, 21 Oct 2026 07:28:00 GMT\n{"status": "error", "error": null, "success": true}',
    b'soon\n[{"error": "no such channel"}]',
    b"-5\nno\x1b[31m\r\nway",
)


def target(data: bytes) -> None:
    """The first line is the header Retry-After."""
    header, _, body = data.partition(b"\n")
    after_s = retry_after_s(header.decode("latin-1"), 1_760_000_000, most_s=RETRY_AFTER_S_MAX)
    assert after_s is None or 0 <= after_s <= RETRY_AFTER_S_MAX
    shown = HttpAnswer(400, body).explanation(200)
    assert shown.isprintable()
    assert len(shown) <= 200
    says_failure(body)
