"""Facts from numeric replay traces."""
