"""Why a backward failed or silently went wrong: one question a file, each answered from the recording alone."""
