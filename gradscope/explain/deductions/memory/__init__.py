"""What is written, kept under a second name, carried on, or read after it was changed."""
