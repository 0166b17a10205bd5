"""Who may do what with the API, how much of it, and what is remembered of it."""
