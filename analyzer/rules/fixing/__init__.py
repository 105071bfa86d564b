"""From the fixes of a rule to changes of the user's own files, in the words of the user's trainer."""
