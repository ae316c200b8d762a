#!/usr/bin/env python3
"""pyca/cryptography as a consumer. Its claim is identity, and it reports the cause of a failure.

    keyshare-provider conformance --claims identity --reports json --refused-by 1 --skip archives -- \
      python3 docs/examples/consumers/pyca.py {file} {password-file}
"""
import json
import pathlib
import sys
import warnings

warnings.simplefilter("ignore")
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat  # noqa: E402
from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12  # noqa: E402


def octets(key):
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def main(file, password_file):
    password = pathlib.Path(password_file).read_bytes().removesuffix(b"\n")
    try:
        found = load_pkcs12(pathlib.Path(file).read_bytes(), password)
        if found.key is None or found.cert is None:
            raise ValueError("there is no identity")
        if octets(found.key.public_key()) != octets(found.cert.certificate.public_key()):
            raise ValueError("the key is not the certificate's")
    except (ValueError, TypeError, NotImplementedError) as error:
        # One message covers both a wrong password and bad data, so the cause is not certain.
        print(json.dumps({"identities": 0, "blames": None}))
        print(error, file=sys.stderr)
        return 1
    print(json.dumps({"identities": 1, "blames": None}))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
