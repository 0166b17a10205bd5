"""The peer comparison and the multivariate models by themselves."""
