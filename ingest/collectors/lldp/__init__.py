"""Links between devices, from the neighbours that they announce."""
