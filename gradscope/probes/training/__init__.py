"""How the program trains: the calls by which it does, and what steps change."""
