"""Programs whose rows need more than a form: state, bars, several lines."""
