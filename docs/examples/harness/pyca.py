#!/usr/bin/env python3
"""pyca/cryptography as a harness: pkcs12-vectors.json on standard input, its results on standard output.

    docs/examples/harness/pyca.py [SECONDS] < vectors/pkcs12-vectors.json > results.json

A test that takes longer than SECONDS (10 by default) is a hang.
"""
import hashlib
import json
import os
import signal
import sys
import warnings

import cryptography
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 10


def answer(test):
    """The result of one test."""
    warnings.simplefilter("ignore")
    password = None if test["password"] is None else test["password"].encode()
    try:
        found = load_pkcs12(bytes.fromhex(test["p12"]), password)
    except (ValueError, TypeError, NotImplementedError) as error:
        return {"result": "rejected", "context": str(error)}
    if found.key is None or found.cert is None:
        return {"result": "rejected", "context": "there is no identity"}
    certificate = found.cert.certificate.public_bytes(Encoding.DER)
    key = found.key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return {"result": "accepted", "identities": [{
        "certificateSha256": hashlib.sha256(certificate).hexdigest(),
        "publicKeySha256": hashlib.sha256(key).hexdigest()}]}


def contained(test):
    """The result of one test in a process of its own, so that a hang or a crash ends only this test."""
    end, start = os.pipe()
    child = os.fork()
    if child == 0:
        # The caller may have blocked the signal, which would disable the time limit.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
        signal.alarm(SECONDS)
        os.write(start, json.dumps(answer(test)).encode())
        os._exit(0)
    os.close(start)
    with os.fdopen(end, "rb") as pipe:
        text = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    result = json.loads(text) if status == 0 else {
        "result": "failed", "context": "hang" if status == -signal.SIGALRM else f"crash, status {status}"}
    return {"tcId": test["tcId"], **result}


def main():
    groups = json.load(sys.stdin)["testGroups"]
    json.dump({"version": 1, "harness": f"pyca/cryptography {cryptography.__version__}",
               "results": [contained(test) for group in groups for test in group["tests"]]}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
