"""What questions rest on: the facts of one recording, its data flow, and the user's source."""
