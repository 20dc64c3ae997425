"""How another process of the same user asks an armed program for a recording: a socket in a private folder.

Messages are lines of JSON with a few numbers and names in them. What comes in is checked and never executed; the most
that anybody can ask for is a recording, in the folder that the program was armed with.
"""
