"""The rows of scripts/hardening: each a function of `full` that gives its figure, or raises `Missed` or `Skip`."""
