"""The rows of scripts/hardening: each a function of `full` that returns its figure, or raises `Missed` or `Skip`."""
