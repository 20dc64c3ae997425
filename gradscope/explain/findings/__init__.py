"""The table of findings, and a file for each family of them: the questions, their pages and their wording."""
