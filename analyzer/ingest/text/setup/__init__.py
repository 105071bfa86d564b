"""What programs print before they start: arguments, banners, records of jobs and containers."""
