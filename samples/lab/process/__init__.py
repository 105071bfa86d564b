"""Process faults: genuine small training scripts that end as real ones end, with the text that libraries print."""
