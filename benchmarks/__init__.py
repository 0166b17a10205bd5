"""What the program costs: each module measures one part, beside the usual tools on the same data."""
