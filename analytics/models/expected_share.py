"""The name of an evidence that detectors and correlation share: the part of its time that a job will lose."""

EXPECTED_SHARE = "expected_share"
