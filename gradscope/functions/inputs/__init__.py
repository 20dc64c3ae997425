"""Where the inputs of a Function come from: given, declared, a spec, a recording, or guessed."""
