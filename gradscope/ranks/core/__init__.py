"""What is known of all ranks, kept small; what makes two things the same; and how a kind of fault is written down."""
