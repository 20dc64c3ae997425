"""The table of findings, and a room for each family of them: the questions, their pages and their wording."""
