"""Remote write's bodies to columns. Pure: bytes in, samples out."""
