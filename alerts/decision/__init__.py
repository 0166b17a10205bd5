"""Who is notified of what, and when: decided from incidents, silences and what was notified before. Pure."""
