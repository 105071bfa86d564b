"""Tables of metrics: CSV, JSON lines, MLflow, HF Trainer state."""
