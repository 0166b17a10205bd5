"""The name of an evidence that detectors and correlation share: what a port usually carries, in bits a second."""

USUAL_LOAD = "usual_load"
