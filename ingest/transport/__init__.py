"""HTTP/1.1 and HTTP/2 clients that collectors share: bounded, with one deadline, and nothing decoded."""
