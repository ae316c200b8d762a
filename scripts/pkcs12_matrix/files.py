"""Keys, PKCS #12 files and the results of reading them."""
import base64
import re

from toolbox import process
from toolbox.build import PACKAGE
from toolbox.report import Missed

PASSWORD = "password"
KINDS = {"rsa": "RSA 2048", "ec": "EC P-256"}
HELPERS = PACKAGE / "scripts/pkcs12_matrix"
FRIENDLY_NAME = "a name"


def run(*arguments, timeout=180, **options):
    """Runs a program in a UTF-8 locale, because some take passwords in the locale's encoding."""
    environment = {"LC_ALL": "C.UTF-8", **options.pop("environment", {})}
    return process.run(*arguments, environment=environment, timeout=timeout, **options)


class Material:
    """A key and its certificate, as every writer receives them."""

    def __init__(self, kind, folder):
        self.kind, self.folder = kind, folder
        self.password_file = folder / "password"
        self.key, self.certificate = folder / f"{kind}.key", folder / f"{kind}.crt"
        # The key as PKCS #8, and in the older form of its algorithm.
        self.key_der, self.traditional_der = folder / f"{kind}.key.der", folder / f"{kind}.traditional.der"
        self.certificate_der = folder / f"{kind}.crt.der"
        # A file for the programs that write only the keys in their own store.
        self.source = folder / f"{kind}.source.p12"
        self.digests = None

    def derive(self, path):
        """Writes all forms from a PKCS #12 file."""
        secret = f"file:{self.password_file}"
        run("openssl", "pkcs12", "-in", path, "-passin", secret, "-noenc", "-nocerts", "-out", self.key)
        run("openssl", "pkcs12", "-in", path, "-passin", secret, "-nokeys", "-out", self.certificate)
        run("openssl", "pkcs8", "-topk8", "-nocrypt", "-in", self.key, "-outform", "DER", "-out", self.key_der)
        run("openssl", "rsa" if self.kind == "rsa" else "ec", *(["-traditional"] if self.kind == "rsa" else []),
            "-in", self.key, "-outform", "DER", "-out", self.traditional_der)
        run("openssl", "x509", "-in", self.certificate, "-outform", "DER", "-out", self.certificate_der)
        # PEM without the attributes that precede the data.
        run("openssl", "x509", "-inform", "DER", "-in", self.certificate_der, "-out", self.certificate)
        run("openssl", "pkcs8", "-topk8", "-nocrypt", "-inform", "DER", "-in", self.key_der, "-out", self.key)
        run("openssl", "pkcs12", "-export", "-inkey", self.key, "-in", self.certificate, "-name", FRIENDLY_NAME,
            "-passout", secret, "-keypbe", "PBE-SHA1-3DES", "-certpbe", "PBE-SHA1-3DES", "-macalg", "sha1",
            "-out", self.source)


class File:
    """A PKCS #12 file: its writer, setting and material, and the result of `inspect`."""

    def __init__(self, name, path, material):
        self.name, self.path, self.material = name, path, material
        self.report = None


class Reading:
    """The result of reading one file: private keys and certificates as bytes, or a message and its kind."""

    def __init__(self, keys=(), certificates=(), message="", failure=None):
        self.keys, self.certificates, self.message, self.failure = list(keys), list(certificates), message, failure
        # SHA-256 of public keys and certificates; a reader that returns digests sets them itself.
        self.key_digests, self.certificate_digests = [], []

    @property
    def is_empty(self):
        return not (self.keys or self.certificates or self.key_digests or self.certificate_digests)


def reading(result, message=None):
    """The reading that a helper printed: lines of "key HEX" and "certificate HEX"."""
    if result.returncode < 0:
        return Reading(message=f"ended by signal {-result.returncode}", failure="crash")
    if result.returncode != 0:
        return Reading(message=message or words(result), failure="fails")
    lines = [line.split(" ", 1) for line in result.stdout.decode().splitlines() if " " in line]
    return Reading(
        [bytes.fromhex(text) for kind, text in lines if kind == "key"],
        [bytes.fromhex(text) for kind, text in lines if kind == "certificate"])


def from_pem(text):
    """The reading of the private keys and certificates in PEM."""
    blocks = re.findall(rb"(-----BEGIN ([A-Z ]+)-----(.*?)-----END \2-----)", text, re.DOTALL)
    return Reading(
        [block for block, label, _ in blocks if label.endswith(b"PRIVATE KEY")],
        [base64.b64decode(body) for _, label, body in blocks if label == b"CERTIFICATE"])


def attempt(*arguments, **options):
    """Runs a reader; returns its result, or a `Reading` if it did not end."""
    try:
        return run(*arguments, is_expected_to_succeed=False, **options)
    except Missed:
        return Reading(message="no answer within 180 s", failure="hang")


ADDRESS = re.compile(r"^[0-9A-F]{8,}:")
PLACE = re.compile(r":[^: ]*\.c:\d+:")
ALARMING = re.compile(r"error|fail|invalid|unable|cannot|could not|unsupported|not |denied|unknown|signal", re.IGNORECASE)


def shortened(line):
    """A line of a message without the parts that differ between runs: addresses, places in the source, paths."""
    line = PLACE.sub(": ", ADDRESS.sub("", line.strip()))
    line = re.sub(r"(/?[\w.+-]+/)*[\w+-]+\.p12", "FILE", line)
    line = re.sub(r", offset \d+", "", line)
    return re.sub(r"\s+", " ", line).strip()[:200]


def words(result, pattern=ALARMING, skip=None):
    """The first line of a program's messages that matches the pattern; otherwise the first line."""
    text = (result.stderr + b"\n" + result.stdout).decode(errors="replace")
    lines = [line for line in text.splitlines() if line.strip() and not (skip and re.search(skip, line))]
    fitting = [line for line in lines if pattern.search(line)]
    return shortened((fitting or lines or [f"exit code {result.returncode}"])[0])
