#!/usr/bin/env python3
"""Reads and writes PKCS #12 with pyca/cryptography, and computes digests, for scripts/scoreboard matrix. It runs in the
virtual environment that has the library, so it imports nothing of the toolbox.

    pyca.py read PASSWORD-FILE FILE...
    pyca.py write PASSWORD-FILE KEY.der CERTIFICATE.der OUTPUT default|compatible
    pyca.py digests        standard input: lines of "key HEX" and "certificate HEX"; output: the digest of each line
    pyca.py pairs          standard input: lines of "KEY CERTIFICATE" in HEX; output: the digests of certificate, key and
                           the certificate's public key. If the key is empty, it is that of the certificate.

Reading prints for each file "file PATH" and then lines of "key HEX", "certificate HEX" or "error TEXT". The digest of a
private key is the SHA-256 of its public key (SubjectPublicKeyInfo).
"""
import base64
import hashlib
import pathlib
import sys

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat, PublicFormat, load_der_private_key,
    load_pem_private_key, pkcs12)

# wolfSSL and GnuTLS return an ECPrivateKey (RFC 5915) without its curve: version 1, and 32 bytes of a key.
NAMELESS = bytes.fromhex("306b0201010420")


def read(password, *paths):
    for path in paths:
        print("file", path)
        try:
            store = pkcs12.load_pkcs12(pathlib.Path(path).read_bytes(), password)
        except (ValueError, TypeError, NotImplementedError) as error:
            print("error", str(error).replace("\n", " "))
            continue
        if store.key is not None:
            print("key", store.key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption()).hex())
        for each in [store.cert, *store.additional_certs]:
            if each is not None:
                print("certificate", each.certificate.public_bytes(Encoding.DER).hex())


def write(password, key, certificate, output, setting):
    key = load_der_private_key(pathlib.Path(key).read_bytes(), None)
    certificate = x509.load_der_x509_certificate(pathlib.Path(certificate).read_bytes())
    encryption = BestAvailableEncryption(password)
    if setting == "compatible":
        builder = PrivateFormat.PKCS12.encryption_builder().hmac_hash(hashes.SHA1())
        encryption = builder.key_cert_algorithm(pkcs12.PBES.PBESv1SHA1And3KeyTripleDESCBC).build(password)
    pathlib.Path(output).write_bytes(
        pkcs12.serialize_key_and_certificates(b"a name", key, certificate, None, encryption))


def private_key(data, curve=None):
    """A private key in PEM or DER. The curve is that of a key that does not name it."""
    if data.startswith(b"-----BEGIN EC"):
        data = base64.b64decode(b"".join(data.strip().splitlines()[1:-1]))
    if data.startswith(b"-----"):
        return load_pem_private_key(data, None)
    if data.startswith(NAMELESS):
        return ec.derive_private_key(int.from_bytes(data[len(NAMELESS):][:32], "big"), ec.SECP256R1())
    try:
        return load_der_private_key(data, None)
    except ValueError:
        # ECPrivateKey (RFC 5915): a SEQUENCE of version 1 and an OCTET STRING.
        if curve is None or data[:1] != b"\x30" or data[2:6] != b"\x02\x01\x01\x04":
            raise
        return ec.derive_private_key(int.from_bytes(data[7:7 + data[6]], "big"), curve)


def public_digest(key):
    """The SHA-256 of a public key."""
    return hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


def pair(key, certificate):
    """The digests of a pair; `unreadable` for what cannot be loaded."""
    found = [hashlib.sha256(certificate).hexdigest()]
    try:
        public = x509.load_der_x509_certificate(certificate).public_key()
        curve = getattr(public, "curve", None)
        found.append(public_digest(private_key(key, curve).public_key() if key else public))
        found.append(public_digest(public))
    except (ValueError, TypeError, UnsupportedAlgorithm):
        found.append("unreadable")
    return found


def pairs():
    for line in sys.stdin:
        key, _, certificate = line.rstrip("\n").partition(" ")
        print(*pair(bytes.fromhex(key), bytes.fromhex(certificate)))


def digests():
    for line in sys.stdin:
        kind, _, text = line.strip().partition(" ")
        data = bytes.fromhex(text)
        if kind == "key":
            try:
                public = private_key(data).public_key()
            except (ValueError, TypeError):
                print("unreadable")
                continue
            data = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        print(hashlib.sha256(data).hexdigest().upper())


def main(arguments):
    if arguments[0] in ("digests", "pairs"):
        return {"digests": digests, "pairs": pairs}[arguments[0]]()
    password = pathlib.Path(arguments[1]).read_bytes().removesuffix(b"\n")
    return {"read": read, "write": write}[arguments[0]](password, *arguments[2:])


if __name__ == "__main__":
    main(sys.argv[1:])
