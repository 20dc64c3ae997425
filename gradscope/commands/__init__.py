"""The front door, one thin file per subcommand: parse, call down, print where it wrote and what to type next."""
