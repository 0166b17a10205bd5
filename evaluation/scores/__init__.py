"""How well anomaly scores of single series do: figures, thresholds, and one result a method."""
