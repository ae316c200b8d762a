"""The rows of `scripts/interop pkcs11`: what programs of others do with the persistent token through PKCS #11."""
