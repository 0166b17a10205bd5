"""The first settings of a cluster, from what other programs know of it already. Pure: texts in, documents out."""
