"""The readers of the scoreboard. Each reads one PKCS #12 file within limits."""
import contextlib
import json
import pathlib
import re
import shutil
import signal
import sqlite3
import tempfile

from pkcs12_matrix import libraries, programs
from pkcs12_matrix.files import HELPERS, from_pem, run, words
from toolbox import build
from toolbox.report import Missed

ADAPTERS = build.PACKAGE / "docs/examples/consumers"
SECONDS = 10


class Failure(Exception):
    """The reader did not answer; the text is the context of the result `failed`."""


class Refusal(Exception):
    """The reader rejects the file; the text is its message."""


def limited(*arguments, seconds=SECONDS, **options):
    """Runs a reader with limits on its processor time and on its memory. The limit on the elapsed time is higher,
    because other processes may keep the processors busy."""
    try:
        result = run("prlimit", f"--cpu={seconds}:{2 * seconds}", f"--data={4 << 30}", "--core=0", *arguments,
                     timeout=12 * seconds, is_expected_to_succeed=False, **options)
    except Missed:
        raise Failure("hang") from None
    if result.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        raise Failure("hang")
    if result.returncode < 0:
        raise Failure(f"signal {-result.returncode}")
    return result


def succeeded(*arguments, pattern=None, **options):
    """Runs a reader that must succeed; returns its result."""
    result = limited(*arguments, **options)
    if result.returncode != 0:
        raise Refusal(words(result, pattern) if pattern else words(result))
    return result


class Test:
    """A file, its password and a folder for the reader's output."""

    def __init__(self, test, folder):
        self.path, self.password_file, self.output = folder / "file.p12", folder / "password", folder / "output"
        self.path.write_bytes(bytes.fromhex(test["p12"]))
        # The programs have no other form for a file without a password.
        self.password = test["password"] or ""
        self.is_without_password = test["password"] is None
        self.password_file.write_text(self.password + "\n", encoding="utf-8")
        self.output.mkdir()


class Reader:
    """A reader. `program` builds what it needs and returns its version.

    `read` returns pairs of a private key and a certificate, which the reader pairs itself, or nil if the reader returns
    no identities. `is_pairing` is false if the reader only lists keys and certificates: then `read` returns all pairs,
    and those with the same public key count.
    """

    program = None
    options = []
    model = None
    is_pairing = True

    def __init__(self, scratch):
        self.program = type(self).program(scratch)
        self.scratch = scratch

    @property
    def title(self):
        return self.program.title + "".join(" " + option for option in self.options)

    def prepare(self):
        missing = [package for tool, package in self.program.tools.items()
                   if not (shutil.which(tool) or pathlib.Path(tool).exists())]
        if missing:
            raise Missed(f"{self.title}: {missing[0]} is not installed")
        self.program.prepare()

    def read(self, test):
        raise NotImplementedError


def every_pair(found):
    """All pairs of the keys and certificates; a file without any of them is rejected."""
    if found.is_empty:
        raise Refusal("the output contains no key and no certificate")
    return [(key, certificate) for key in found.keys for certificate in found.certificates]


class Ours(Reader):
    program = programs.Ours

    def read(self, test):
        secret = ["--password-file", test.password_file] if test.password else []
        consumer = build.commands() / "keyshare-consumer"
        imported = limited(
            consumer, "import", "--file", test.path, *secret, "--device", test.output / "device", "--json", input=b"")
        entries = json.loads(imported.stdout or b"{}").get("results", [])
        labels = {entry["label"] for entry in entries if entry.get("status") == "imported"}
        if not labels:
            lines = imported.stderr.decode().splitlines()
            raise Refusal(next((line.split(": ", 1)[-1] for line in lines if ": " in line), "nothing is imported"))
        report = json.loads(limited(consumer, "inspect", test.path, *secret, "--json", input=b"").stdout)
        return {(entry["label"].lower(), entry["details"]["publicKeySHA256"].lower())
                for entry in report["identities"] if entry["label"] in labels}


class OpenSSL(Reader):
    program, model, is_pairing = programs.OpenSSL, "openssl", False

    def read(self, test):
        return every_pair(from_pem(succeeded(
            "openssl", "pkcs12", "-in", test.path, "-noenc", "-passin", f"file:{test.password_file}", *self.options,
            pattern=re.compile(r"error:|error |invalid")).stdout))


class OpenSSLLegacy(OpenSSL):
    options, model = ["-legacy"], "openssl-legacy"


class GnuTLS(Reader):
    program, model, is_pairing = programs.GnuTLS, "gnutls", False

    def read(self, test):
        secret = ["--null-password"] if test.is_without_password else (
            ["--password", test.password] if test.password else ["--empty-password"])
        result = succeeded("certtool", "--p12-info", "--inder", "--infile", test.path, *secret)
        # After an error certtool continues with the next bag and exits with 0.
        if b"rror" in result.stderr:
            raise Refusal(words(result))
        found = from_pem(result.stdout)
        found.keys = [self.decrypted(key, secret) for key in found.keys]
        return every_pair(found)

    def decrypted(self, key, secret):
        """The key; certtool lists an encrypted key as it is, and decrypts it only on request."""
        if not key.startswith(b"-----BEGIN ENCRYPTED"):
            return key
        keys = from_pem(succeeded("certtool", "--key-info", *secret, input=key).stdout).keys
        if not keys:
            raise Refusal("certtool --key-info returns no key")
        return keys[0]


class NSS(Reader):
    """pk12util imports into a new database. NSS itself finds the key of a certificate, by the public key."""

    program, model = programs.NSS, "nss"

    def read(self, test):
        database = self.program.database(test.output)
        succeeded("pk12util", "-i", test.path, "-d", database, "-w", test.password_file, "-K", "")
        found = nss_certificates(test.output)
        if not found:
            raise Refusal("the database contains no certificate with its key")
        return [(None, certificate) for certificate in found]


def nss_certificates(folder):
    """The certificates of an NSS database whose private keys are in it: those with the CKA_ID of a key. The tables have
    a column for each attribute of PKCS #11. certutil lists only names, and cuts long ones."""
    with contextlib.closing(sqlite3.connect(folder / "key4.db")) as keys:
        identifiers = {row[0] for row in keys.execute("SELECT a102 FROM nssPrivate WHERE a0 = x'00000003'")}
    with contextlib.closing(sqlite3.connect(folder / "cert9.db")) as certificates:
        rows = certificates.execute("SELECT a102, a11 FROM nssPublic WHERE a0 = x'00000001'").fetchall()
    return [value for identifier, value in rows if identifier in identifiers]


class KeyStores(Reader):
    """A security provider of Java, in a process for each file."""

    def prepare(self):
        super().prepare()
        run("javac", "-d", self.scratch, HELPERS / "KeyStores.java")

    def read(self, test):
        lines = limited(
            "java", "-cp", ":".join([str(self.scratch), *self.program.path]), "KeyStores", "read",
            self.program.provider, test.password_file, test.path, seconds=2 * SECONDS).stdout.decode()
        for line in lines.splitlines():
            if line.startswith("error "):
                raise Refusal(libraries.of_exception(line.removeprefix("error ")))
        return printed_pairs(lines)


class JDK(KeyStores):
    program, model = libraries.JDK, "java"


class BouncyCastle(KeyStores):
    program = libraries.BouncyCastle


def printed_pairs(text):
    """The pairs that a helper printed: each line "key HEX" is followed by "certificate HEX" of its certificate."""
    pairs, key = [], None
    for line in text.splitlines():
        kind, _, value = line.partition(" ")
        if kind == "key":
            key = bytes.fromhex(value)
        elif kind == "certificate" and key is not None:
            pairs.append((key, bytes.fromhex(value)))
            key = None
    if not pairs:
        raise Refusal("there is no key with its certificate")
    return pairs


class WolfSSL(Reader):
    program = libraries.WolfSSL

    def read(self, test):
        return printed_pairs(succeeded(
            *self.program.command(), "read", test.password_file, test.path).stdout.decode())


class Go(WolfSSL):
    program = libraries.Go


class Heimdal(Reader):
    program, is_pairing = programs.Heimdal, False

    def read(self, test):
        written = test.output / "output"
        succeeded("hxtool", "certificate-copy", f"--in-pass=PASS:{test.password}", f"PKCS12:{test.path}",
                  f"PEM-FILE:{written}")
        return every_pair(from_pem(written.read_bytes() if written.exists() else b""))


class NodeProgram(programs.Program):
    name, title, source = "node", "Node tls.createSecureContext", "nodejs"
    tools = {"node": "nodejs"}

    def version(self):
        return run("node", "--version").stdout.decode().strip().removeprefix("v")


class Node(Reader):
    """Node opens the file for a TLS connection, and returns no keys."""

    program = NodeProgram

    def read(self, test):
        succeeded("node", ADAPTERS / "node.mjs", test.path, test.password_file)
        return None


# pyca/cryptography is missing: it runs as docs/examples/harness/pyca.py.
READERS = {
    "keysharing": Ours, "openssl": OpenSSL, "openssl-legacy": OpenSSLLegacy, "gnutls": GnuTLS, "nss": NSS, "jdk": JDK,
    "bouncycastle": BouncyCastle, "wolfssl": WolfSSL, "go": Go, "heimdal": Heimdal, "node": Node,
}


def in_folder(reader, test, scratch):
    """The pairs of one test, read in a folder of its own."""
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        return reader.read(Test(test, pathlib.Path(folder)))
