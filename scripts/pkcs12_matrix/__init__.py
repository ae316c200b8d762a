"""The matrix of scripts/scoreboard: PKCS #12 files of several independent programs, each read by each."""
