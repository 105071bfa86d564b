"""The casebook: runs whose cause is known, as typed facts, and what they say of the odds that rules are written in."""
