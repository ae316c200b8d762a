"""A device whose identities are registered as tokens, with the module and their certificates."""
import pathlib
import re

from toolbox import build, process
from toolbox.device import Device
from toolbox.report import need

PIN = "123456"


class Identity:
    """A certificate of the token: its name there, its file, and what its key does."""

    def __init__(self, label, identifier, certificate, kind, can):
        self.label, self.id, self.certificate, self.kind, self.can = label, identifier, certificate, kind, can
        self.key = f"pkcs11:object={label.replace(' ', '%20')};type=private"
        self.url = f"pkcs11:object={label.replace(' ', '%20')};type=cert"

    @property
    def public_key(self):
        """The file of the public key, in PEM."""
        path = self.certificate.with_suffix(".pub")
        if not path.exists():
            path.write_bytes(process.run("openssl", "x509", "-in", self.certificate, "-noout", "-pubkey").stdout)
        return path


class Token:
    """A running provider with registered tokens.

    Used in a `with` statement it ends with the provider stopped and the scratch folder removed.
    """

    KINDS = ("rsa2048", "p256", "p384")
    TYPES = ("signature", "encryption", "authentication")

    def __init__(self, kinds=KINDS, serve=(), pin=None):
        """`serve` contains options of `serve`; `pin` is the PIN needed to list private keys, if any."""
        self.pin = pin
        self.module = pathlib.Path(build.module())
        self.device = Device()
        for kind in kinds:
            self.device.provider(
                "provision", "--key", kind, "--generations", "1", "--types", ",".join(self.TYPES), "--edipi",
                f"{1000000001 + self.KINDS.index(kind)}")
        self.device.provider("token", "add", "--all")
        self.device.serve(*serve)
        self.folder = pathlib.Path(self.device.scratch)
        (self.folder / "home").mkdir()

    def __enter__(self):
        self.identities = self._identities()
        return self

    def __exit__(self, *error):
        self.device.__exit__(*error)

    def environment(self, **extra):
        """The environment variables of a client: its own home, and the device."""
        return {
            "HOME": str(self.folder / "home"), "KEYSHARE_DEVICE": self.device.path, "LC_ALL": "C.UTF-8",
            "OPENSSL_CONF": "/etc/ssl/openssl.cnf", **extra}

    def run(self, *arguments, input=None, succeeds=True, timeout=120, **extra):
        """Runs a client until it ends; returns its `CompletedProcess`."""
        return process.run(
            *arguments, input=input, is_expected_to_succeed=succeeds, environment=self.environment(**extra),
            timeout=timeout)

    def tool(self, *arguments, **options):
        """Runs pkcs11-tool on the module."""
        return self.run("pkcs11-tool", "--module", self.module, *arguments, **options)

    def file(self, name, content=None):
        """The path of a scratch file, after writing `content`, if given."""
        path = self.folder / name
        if content is not None:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def of(self, kind=None, can=None):
        """The identities of a kind of key, or that can do something."""
        return [
            identity for identity in self.identities
            if (kind is None or identity.kind == kind) and (can is None or can in identity.can)]

    def _identities(self):
        identities = []
        login = ["--login", "--pin", self.pin] if self.pin else []
        listing = self.tool("-O", *login).stdout.decode()
        for number, block in enumerate(re.split(r"\n(?=\S)", listing)):
            if not block.startswith("Private Key Object"):
                continue
            label = re.search(r"label:\s+(.*)", block).group(1)
            identifier = re.search(r"ID:\s+(\w+)", block).group(1)
            usage = re.search(r"Usage:\s+(.*)", block).group(1)
            der = self.file(f"certificate-{number}.der")
            self.tool("-r", "-y", "cert", "-d", identifier, "-o", der)
            pem = self.file(f"certificate-{number}.pem")
            process.run("openssl", "x509", "-inform", "DER", "-in", der, "-out", pem)
            text = process.run("openssl", "x509", "-in", pem, "-noout", "-text").stdout.decode()
            kind = "rsa2048" if "rsaEncryption" in text else "p384" if "P-384" in text else "p256"
            identities.append(Identity(label, identifier, pem, kind, usage.split(", ")))
        need(identities, "pkcs11-tool lists no private key")
        return identities
