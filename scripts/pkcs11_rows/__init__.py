"""The rows of `scripts/interop pkcs11`: other programs that use the persistent token through PKCS #11."""
