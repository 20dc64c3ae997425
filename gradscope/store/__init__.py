"""The recording file: one SQLite database a process, readable by any SQLite tool."""
