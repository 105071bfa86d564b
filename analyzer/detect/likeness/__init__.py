"""What runs with such numbers turned out to be: a linear model over the facts of labelled public runs."""
