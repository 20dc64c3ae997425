"""Functions with known faults: `# expect: CODE` stands on the line that a finding must point at."""
