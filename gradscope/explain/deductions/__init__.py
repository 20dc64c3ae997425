"""What several findings share: what can be concluded from the evidence, not yet put down as a finding."""
