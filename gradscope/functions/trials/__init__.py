"""What is run: each trial tries a Function in one way and compares what torch does with what it should do."""
