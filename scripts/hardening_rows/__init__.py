"""The rows of scripts/hardening. Each is a function of `full` that returns its figure, or raises `Missed` or `Skip`."""
