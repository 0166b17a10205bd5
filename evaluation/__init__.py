"""Detection quality on labelled series and in fault campaigns, beside other methods. Run by ``make eval``."""
