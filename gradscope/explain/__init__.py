"""Why a backward failed or silently went wrong: evidence, deductions, findings and answers, from the recording alone."""
