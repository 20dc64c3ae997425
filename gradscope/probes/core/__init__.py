"""What every probe rests on: the recording it writes into, threads, stacks, names, and the nouns that probes share."""
