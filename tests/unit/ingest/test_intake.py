"""What a receiver takes: bounds of what waits, and of what each sender may send."""

from ingest.collectors.intake import Intake
from ingest.collectors.quota import Quota
from ingest.collectors.receiver_config import ReceiverLimits

S = 10**9


def test_what_waits_is_bounded_by_count_and_by_bytes() -> None:
    intake = Intake(ReceiverLimits(waiting_max=2, waiting_bytes_max=100))
    assert intake.refusal("a", 60, 0) is None
    refused = intake.refusal("b", 60, 0)
    assert refused is not None
    assert (refused.is_quota, refused.after_s) == (False, 1.0)
    assert intake.refusal("b", 40, 0) is None
    assert intake.refusal("c", 0, 0) is not None
    intake.release(60)
    assert (intake.waiting, intake.waiting_bytes) == (1, 40)
    assert intake.refusal("c", 60, 0) is None


def test_a_sender_above_its_quota_hears_when_to_try_again_and_others_are_taken() -> None:
    intake = Intake(ReceiverLimits(messages_per_s=1, waiting_max=1000))
    assert [intake.refusal("a", 1, 0) for _ in range(2)] == [None, None]
    refused = intake.refusal("a", 1, 0)
    assert refused is not None
    assert (refused.is_quota, refused.after_s) == (True, 1.0)
    assert intake.refusal("b", 1, 0) is None
    assert intake.refusal("a", 1, S) is None
    assert intake.refusal("a", 1, S) is not None


def test_the_sender_that_was_silent_for_longest_is_forgotten() -> None:
    intake = Intake(ReceiverLimits(messages_per_s=1, senders_max=2, waiting_max=1000))
    for name in ("a", "a", "b", "c"):
        assert intake.refusal(name, 1, 0) is None
    assert intake.refusal("a", 1, 0) is None, "it begins again"


def test_an_amount_beyond_two_seconds_worth_may_come_when_nothing_else_did() -> None:
    quota = Quota(10)
    assert quota.wait_s(1000, 0) == 0.0
    assert quota.wait_s(10, 0) == 1.0
    assert quota.wait_s(10, S) == 0.0
    assert quota.wait_s(1000, S) == 2.0
