"""Facts about time, throughput and utilisation."""
