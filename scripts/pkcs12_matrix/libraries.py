"""The programs of the matrix that are libraries, used through a small helper each, and Java's keytool."""

from pkcs12_matrix.files import FRIENDLY_NAME, HELPERS, Reading, attempt, reading, run
from pkcs12_matrix.programs import Program, debian_version
from toolbox import install

PROVIDERS = ["/usr/share/java/bcprov.jar", "/usr/share/java/bcpkix.jar"]


def printed_readings(result, files, shortened=str):
    """The readings that a helper printed for several files: "file PATH", and then lines of "key HEX", "certificate HEX",
    "error TEXT", or messages of the library."""
    if isinstance(result, Reading):
        return [result] * len(files)
    found = {}
    for line in result.stdout.decode().splitlines():
        kind, _, text = line.partition(" ")
        if kind == "file":
            current = found[text] = Reading()
        elif kind == "error":
            current.message, current.failure = shortened(text)[:200], "fails"
        elif kind in ("key", "certificate"):
            (current.keys if kind == "key" else current.certificates).append(bytes.fromhex(text))
        elif not current.message and not current.keys and line.strip():
            # Bouncy Castle prints what it skips.
            current.message = line.strip()
    missing = Reading(message=f"ended with {result.returncode}", failure="crash")
    return [found.get(str(file.path), missing) for file in files]


def of_exception(text):
    """The message of a Java exception without its package."""
    kind, _, message = text.partition(": ")
    return kind.split(".")[-1] + (": " + message if message else "")


class KeyStores(Program):
    """A security provider of Java. One process reads all files, because a start takes a second."""

    provider = None
    path = []

    def read_all(self, files, options, pool):
        if not files:
            return []
        result = attempt(
            "java", "-cp", ":".join(self.path) or ".", HELPERS / "KeyStores.java", "read", self.provider,
            files[0].material.password_file, *[file.path for file in files], timeout=600)
        return printed_readings(result, files, of_exception)


class JDK(KeyStores):
    name, title, source = "jdk", "JDK keytool", "openjdk-17"
    tools = {"javac": "default-jdk-headless", "keytool": "default-jre-headless"}
    settings = {
        "default": "keytool -importkeystore", "compatible": "keytool -J-Dkeystore.pkcs12.legacy -importkeystore",
    }
    columns = [("", [], "java")]
    provider = "SunJSSE"

    def version(self):
        return run("keytool", "-J--version").stdout.decode().split()[1]

    def write(self, setting, material, path):
        run("keytool", *(["-J-Dkeystore.pkcs12.legacy"] if setting == "compatible" else []), "-importkeystore",
            "-noprompt", "-srckeystore", material.source, "-srcstoretype", "PKCS12", "-srcstorepass:file",
            material.password_file, "-destkeystore", path, "-deststoretype", "PKCS12", "-deststorepass:file",
            material.password_file, "-srcalias", FRIENDLY_NAME)


class BouncyCastle(KeyStores):
    name, title, source = "bouncycastle", "Bouncy Castle", "libbcprov-java"
    tools = {"javac": "default-jdk-headless", PROVIDERS[0]: "libbcprov-java", PROVIDERS[1]: "libbcpkix-java"}
    settings = {
        "default": 'KeyStore.getInstance("PKCS12", "BC")',
        "compatible": 'KeyStore.getInstance("PKCS12-3DES-3DES", "BC")',
    }
    provider = "BC"
    path = PROVIDERS

    def version(self):
        return debian_version("libbcprov-java")

    def write(self, setting, material, path):
        kind = "PKCS12-3DES-3DES" if setting == "compatible" else "PKCS12"
        run("java", "-cp", ":".join(self.path), HELPERS / "KeyStores.java", "write", kind, material.password_file,
            material.key_der, material.certificate_der, path)


class Helper(Program):
    """A library with a helper of its own: `read PASSWORD-FILE FILE` and `write PASSWORD-FILE KEY CERTIFICATE OUTPUT`."""

    def command(self):
        """The helper's command."""
        return [self.scratch / self.name]

    def read(self, file, options):
        result = attempt(*self.command(), "read", file.material.password_file, file.path)
        return result if isinstance(result, Reading) else reading(result)


class WolfSSL(Helper):
    name, title, source = "wolfssl", "wolfSSL", "libwolfssl-dev"
    tools = {"cc": "gcc", "/usr/include/wolfssl/options.h": "libwolfssl-dev"}
    # The caller must choose the scheme, so there is no default.
    schemes = {"plain": "-1", "rc4": "1", "compatible": "3"}
    settings = {
        "plain": "wc_PKCS12_create without encryption", "rc4": "wc_PKCS12_create with PBE_SHA1_RC4_128",
        "compatible": "wc_PKCS12_create with PBE_SHA1_DES3",
    }

    def prepare(self):
        run("cc", "-O1", "-o", self.scratch / self.name, HELPERS / "wolfssl.c", "-lwolfssl")

    def version(self):
        return debian_version("libwolfssl-dev")

    def write(self, setting, material, path):
        scheme = self.schemes[setting]
        run(*self.command(), "write", material.password_file, material.traditional_der, material.certificate_der, path,
            scheme, scheme)


class PyCA(Helper):
    name, title, source = "pyca", "pyca/cryptography", "PyPI"
    settings = {
        "default": "serialize_key_and_certificates with BestAvailableEncryption",
        "compatible": "serialize_key_and_certificates with PBESv1SHA1And3KeyTripleDESCBC and SHA1",
    }

    def __init__(self, scratch):
        super().__init__(scratch)
        self.interpreter = None

    def prepare(self):
        self.interpreter = install.python("interop-python", "cryptography", "cryptography")

    def command(self):
        return [self.interpreter, HELPERS / "pyca.py"]

    def version(self):
        return run(self.interpreter, "-c", "import cryptography; print(cryptography.__version__)").stdout.decode().strip()

    def write(self, setting, material, path):
        run(*self.command(), "write", material.password_file, material.key_der, material.certificate_der, path, setting)

    def read_all(self, files, options, pool):
        if not files:
            return []
        result = attempt(
            *self.command(), "read", files[0].material.password_file, *[file.path for file in files], timeout=600)
        return printed_readings(result, files)

    def digests(self, readings):
        """Sets the digests of readings, in one call."""
        if not any(each.keys or each.certificates for each in readings):
            return
        lines = []
        for each in readings:
            lines += [f"key {key.hex()}" for key in each.keys]
            lines += [f"certificate {certificate.hex()}" for certificate in each.certificates]
        printed = run(*self.command(), "digests", input="\n".join(lines).encode()).stdout.decode().split()
        digests = iter(printed)
        for each in readings:
            if each.keys or each.certificates:
                each.key_digests = [next(digests) for _ in each.keys]
                each.certificate_digests = [next(digests) for _ in each.certificates]


class Go(Helper):
    name, title, source = "go", "go-pkcs12", "golang-sslmate-src-go-pkcs12-dev"
    folder = "/usr/share/gocode/src/software.sslmate.com/src/go-pkcs12"
    tools = {"go": "golang-go", folder: "golang-sslmate-src-go-pkcs12-dev"}
    settings = {"default": "pkcs12.Encode"}

    def prepare(self):
        # The archive's modules are a GOPATH; nothing is downloaded.
        run("go", "build", "-o", self.scratch / self.name, HELPERS / "gopkcs12.go", timeout=600, environment={
            "GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOCACHE": str(self.scratch / "go-cache"),
            "GOPROXY": "off"})

    def version(self):
        return debian_version("golang-sslmate-src-go-pkcs12-dev")

    def write(self, setting, material, path):
        run(*self.command(), "write", material.password_file, material.key_der, material.certificate_der, path)
