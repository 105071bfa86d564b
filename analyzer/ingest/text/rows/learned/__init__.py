"""Rows of programs that nobody declared: what their wording says, and blocks of it."""
