"""Why a backward failed or silently went wrong: evidence, deductions, findings, answers, from the recording alone."""
