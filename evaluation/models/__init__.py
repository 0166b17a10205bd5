"""The peer comparison and the multivariate models on their own."""
