"""The scoreboard of scripts/scoreboard: the results of several harnesses on pkcs12-vectors.json."""
