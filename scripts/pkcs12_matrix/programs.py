"""The programs of the matrix that are used through their command lines."""
import pathlib
import re
import signal
import shutil
import tempfile
import threading

from pkcs12_matrix.files import FRIENDLY_NAME, PASSWORD, Reading, attempt, from_pem, run, shortened, words
from toolbox import build
from toolbox.device import Device
from toolbox.report import need


def debian_version(package):
    """The upstream version of an installed Debian package."""
    text = run("dpkg-query", "-W", "-f", "${Version}", package).stdout.decode()
    return re.sub(r"^\d+:|[+-](?:dfsg|deb|\d|really).*$", "", text)


class Program:
    """A program that writes or reads PKCS #12.

    `settings` has the options of each way of writing, for people. The name of a setting is `default`, `compatible` or
    another word. `columns` lists the ways of reading: a suffix of the name, options, the reader model.
    """

    name = title = source = ""
    tools = {}
    settings = {}
    columns = [("", [], None)]

    def __init__(self, scratch):
        self.scratch = scratch

    def prepare(self):
        """Builds a helper, if the program needs one."""

    def version(self):
        raise NotImplementedError

    def write(self, setting, material, path):
        """Writes a file; raises `Missed` if the program cannot."""
        raise NotImplementedError

    def read(self, file, options):
        """Reads one file."""
        raise NotImplementedError

    def read_all(self, files, options, pool):
        """Reads files; returns their readings in order."""
        return list(pool.map(lambda file: self.read(file, options), files))


class Ours(Program):
    name, title, source = "keysharing", "this package", "source"
    settings = {
        "default": "keyshare-provider export", "compatible": "keyshare-provider export --profile compatible",
        "purebred": "keyshare-provider export --profile purebred-sample",
    }

    def __init__(self, scratch):
        super().__init__(scratch)
        self.devices = {}

    def version(self):
        return run(build.commands() / "keyshare-provider", "--version").stdout.decode().split()[0]

    def create(self, material):
        """Creates the identity of all files on a device of the provider; returns its file."""
        device = self.devices[material.kind] = Device(self.scratch / f"device-{material.kind}")
        pathlib.Path(device.scratch).mkdir()
        # The same bytes in each run.
        device.provider(
            "provision", "--key", {"rsa": "rsa2048", "ec": "p256"}[material.kind], "--generations", "1", "--count", "1",
            "--types", "signature", "--seed", "1", "--at", "2026-01-01", "--quiet")
        path = self.scratch / f"{material.kind}.origin.p12"
        self.write("default", material, path)
        return path

    def write(self, setting, material, path):
        device = self.devices[material.kind]
        profile = {"default": [], "compatible": ["compatible"], "purebred": ["purebred-sample"]}[setting]
        device.provider(
            "export", device.labels()[0], *(["--profile", *profile] if profile else []), "--password-file",
            material.password_file, "-o", path)

    def read(self, file, options):
        with Device() as device:
            imported = device.run(
                "keyshare-consumer", "import", "--file", file.path, "--password-file", file.material.password_file,
                "--json", *options)
        if imported.returncode < 0:
            return Reading(message=f"ended by signal {-imported.returncode}", failure="crash")
        if imported.returncode != 0:
            lines = [line for line in imported.stderr.splitlines() if line.startswith("keyshare-consumer: ")]
            return Reading(
                message=shortened((lines or imported.stderr.splitlines())[0].split(": ", 1)[-1]), failure="fails")
        reading = Reading()
        reading.certificate_digests = re.findall(r'"label" : "([0-9A-F]{64})"', imported.stdout)
        # An identity is a key with its certificate, so the public key of both is the same.
        reading.key_digests = [each["details"]["publicKeySHA256"] for each in file.report["identities"]]
        return reading


class OpenSSL(Program):
    name, title, source = "openssl", "OpenSSL", "openssl"
    tools = {"openssl": "openssl"}
    compatible = ["-keypbe", "PBE-SHA1-3DES", "-certpbe", "PBE-SHA1-3DES", "-macalg", "sha1"]
    settings = {
        "default": "openssl pkcs12 -export", "legacy": "openssl pkcs12 -export -legacy",
        "compatible": "openssl pkcs12 -export " + " ".join(compatible),
    }
    columns = [("", [], "openssl"), (" -legacy", ["-legacy"], "openssl-legacy")]

    def version(self):
        return run("openssl", "version").stdout.decode().split()[1]

    def write(self, setting, material, path):
        options = {"default": [], "legacy": ["-legacy"], "compatible": self.compatible}[setting]
        run("openssl", "pkcs12", "-export", "-inkey", material.key, "-in", material.certificate, "-name", FRIENDLY_NAME,
            "-passout", f"file:{material.password_file}", *options, "-out", path)

    def read(self, file, options):
        result = attempt(
            "openssl", "pkcs12", "-in", file.path, "-noenc", "-passin", f"file:{file.material.password_file}", *options)
        return pem_reading(result, re.compile(r"error:|error |invalid"))


def pem_reading(result, pattern=None):
    """The reading of a program that prints PEM."""
    if isinstance(result, Reading):
        return result
    if result.returncode < 0:
        return Reading(message=f"ended by signal {-result.returncode}", failure="crash")
    found = from_pem(result.stdout)
    if result.returncode != 0 or found.is_empty:
        message = words(result, pattern) if pattern else words(result)
        return Reading(message=message, failure="fails")
    return found


class GnuTLS(Program):
    name, title, source = "gnutls", "GnuTLS certtool", "gnutls-bin"
    tools = {"certtool": "gnutls-bin"}
    compatible = ["--pkcs-cipher", "3des-pkcs12", "--hash", "sha1"]
    settings = {"default": "certtool --to-p12", "compatible": "certtool --to-p12 " + " ".join(compatible)}
    columns = [("", [], "gnutls")]

    def version(self):
        return run("certtool", "--version").stdout.decode().split("\n")[0].split()[-1]

    def write(self, setting, material, path):
        options = self.compatible if setting == "compatible" else []
        run("certtool", "--to-p12", "--load-privkey", material.key, "--load-certificate", material.certificate,
            "--p12-name", FRIENDLY_NAME, "--outder", "--outfile", path, "--password", PASSWORD, *options)

    def read(self, file, options):
        found = pem_reading(attempt("certtool", "--p12-info", "--inder", "--infile", file.path, "--password", PASSWORD))
        if found.failure:
            return found
        # certtool copies an encrypted key as it is, and decrypts it only on request.
        keys = []
        for key in found.keys:
            if not key.startswith(b"-----BEGIN ENCRYPTED"):
                keys.append(key)
                continue
            decrypted = pem_reading(attempt("certtool", "--key-info", "--password", PASSWORD, input=key))
            if decrypted.failure:
                return decrypted
            keys += decrypted.keys
        return Reading(keys, found.certificates)


class NSS(Program):
    name, title, source = "nss", "NSS pk12util", "libnss3-tools"
    tools = {"pk12util": "libnss3-tools"}
    triple = "PKCS #12 V2 PBE With SHA-1 And 3KEY Triple DES-CBC"
    settings = {
        "default": "pk12util -o", "compatible": f"pk12util -o -c '{triple}' -C '{triple}' -M SHA-1",
    }
    columns = [("", [], "nss")]

    def version(self):
        return debian_version("libnss3-tools")

    def database(self, folder):
        run("certutil", "-N", "-d", f"sql:{folder}", "--empty-password")
        return f"sql:{folder}"

    def write(self, setting, material, path):
        options = ["-c", self.triple, "-C", self.triple, "-M", "SHA-1"] if setting == "compatible" else []
        with tempfile.TemporaryDirectory(dir=self.scratch) as folder:
            database = self.database(folder)
            run("pk12util", "-i", material.source, "-d", database, "-w", material.password_file, "-K", "")
            run("pk12util", "-o", path, "-n", FRIENDLY_NAME, "-d", database, "-w", material.password_file, "-K", "",
                *options)

    def read(self, file, options):
        secret = ["-w", file.material.password_file]
        with tempfile.TemporaryDirectory(dir=self.scratch) as folder:
            database = self.database(folder)
            result = attempt("pk12util", "-i", file.path, "-d", database, *secret, "-K", "")
            if isinstance(result, Reading) or result.returncode != 0:
                return pem_reading(result)
            names = run("certutil", "-L", "-d", database).stdout.decode()
            name = re.search(r"^(.+?) +[a-zA-Z]*,[a-zA-Z]*,[a-zA-Z]*$", names, re.MULTILINE)
            if name is None:
                return Reading(message="pk12util reports success, and the database is empty", failure="fails")
            # The database exports the imported key. Its own files can always be opened with OpenSSL.
            copy = pathlib.Path(folder) / "copy.p12"
            result = attempt(
                "pk12util", "-o", copy, "-n", name.group(1), "-d", database, *secret, "-K", "", "-c", "AES-256-CBC", "-C",
                "AES-256-CBC")
            if isinstance(result, Reading) or result.returncode != 0:
                return pem_reading(result)
            return pem_reading(attempt(
                "openssl", "pkcs12", "-in", copy, "-noenc", "-passin", f"file:{file.material.password_file}"))


class Heimdal(Program):
    name, title, source = "heimdal", "Heimdal hxtool", "heimdal-clients"
    tools = {"hxtool": "heimdal-clients"}
    settings = {"default": "hxtool certificate-copy"}

    def version(self):
        return debian_version("heimdal-clients")

    def write(self, setting, material, path):
        run("hxtool", "certificate-copy", f"--out-pass=PASS:{PASSWORD}", f"FILE:{material.certificate},{material.key}",
            f"PKCS12:{path}")

    def read(self, file, options):
        with tempfile.TemporaryDirectory(dir=self.scratch) as folder:
            output = pathlib.Path(folder) / "output"
            result = attempt(
                "hxtool", "certificate-copy", f"--in-pass=PASS:{PASSWORD}", f"PKCS12:{file.path}", f"PEM-FILE:{output}")
            if isinstance(result, Reading) or result.returncode != 0:
                return pem_reading(result)
            found = from_pem(output.read_bytes() if output.exists() else b"")
        if found.is_empty:
            return Reading(message="hxtool reports success, and copies nothing", failure="fails")
        return found


class GnuPG(Program):
    """gpgsm. All files are imported one after the other into the same home, because each home starts an agent."""

    name, title, source = "gpgsm", "GnuPG gpgsm", "gpgsm"
    tools = {"gpgsm": "gpgsm", "gpg-agent": "gpg-agent"}
    settings = {"default": "gpgsm --export-secret-key-p12"}
    noise = r"dirmngr|issuer certificate|external URL|keybox .* created|^$"

    def __init__(self, scratch):
        super().__init__(scratch)
        self.lock = threading.Lock()
        self.home = None

    def prepare(self):
        # The agent's socket needs a short path.
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="matrix-", dir="/tmp"))

    def close(self):
        if self.home:
            run("gpgconf", "--kill", "all", environment={"GNUPGHOME": str(self.home)}, is_expected_to_succeed=False)
            shutil.rmtree(self.home, ignore_errors=True)

    def version(self):
        return run("gpgsm", "--version").stdout.decode().split("\n")[0].split()[-1]

    def gpgsm(self, *arguments):
        return attempt(
            "gpgsm", "--batch", "--yes", "--pinentry-mode", "loopback", "--passphrase-fd", "0", "--disable-dirmngr",
            *arguments, input=PASSWORD.encode() + b"\n", environment={"GNUPGHOME": str(self.home)})

    def load(self, path):
        """Imports a file into the empty home; returns the result and the fingerprint."""
        for old in [*self.home.glob("pubring.kbx*"), *self.home.glob("private-keys-v1.d/*")]:
            old.unlink()
        result = self.gpgsm("--import", path)
        if isinstance(result, Reading):
            return result, None
        listed = self.gpgsm("--list-secret-keys", "--with-colons")
        prints = re.findall(rb"^fpr:+([0-9A-F]{40}):", getattr(listed, "stdout", b""), re.MULTILINE)
        return result, prints[0].decode() if prints else None

    def write(self, setting, material, path):
        with self.lock:
            result, fingerprint = self.load(material.source)
            need(fingerprint is not None, self.read_failure(result).message)
            self.gpgsm("--output", path, "--export-secret-key-p12", fingerprint)
            need(path.exists(), "gpgsm exported nothing")

    def read_failure(self, result):
        # gpgsm catches the signal itself, and exits with 128 and its number.
        if b"signal Segmentation fault caught" in result.stderr or result.returncode in (-11, 128 + signal.SIGSEGV):
            return Reading(message="signal Segmentation fault caught", failure="crash")
        return Reading(message=re.sub(r"^gpgsm: ", "", words(result, skip=self.noise)), failure="fails")

    def read(self, file, options):
        with self.lock:
            result, fingerprint = self.load(file.path)
            if isinstance(result, Reading):
                return result
            if fingerprint is None or result.returncode != 0:
                return self.read_failure(result)
            key = self.gpgsm("--export-secret-key-raw", fingerprint)
            certificate = self.gpgsm("--export", fingerprint)
        if isinstance(key, Reading) or not key.stdout:
            return Reading(message="the imported key cannot be exported", failure="fails")
        return Reading([key.stdout], [certificate.stdout])
