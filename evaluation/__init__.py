"""How well detection does on labelled series of ordinary services, and beside other methods. Run by ``make eval``."""
