"""The test of each program with the token. A row has a name, the required Debian packages, and a function that raises
`Missed` if the program fails; it returns the program's version."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

from pkcs11_rows.token import PIN
from toolbox import process
from toolbox.report import Missed, need

MESSAGE = b"the message to be signed\n"
ENGINES = f"/usr/lib/{os.uname().machine}-linux-gnu/engines-3/pkcs11.so"


def package_version(package):
    """The version of a Debian package, without Debian's part."""
    output = process.run("dpkg-query", "-W", "-f", "${Version}", package).stdout.decode()
    return re.sub(r"^\d+:|[-+~].*$", "", output)


def version(*command):
    """The first number with a dot that a command prints."""
    output = process.run(*command, is_expected_to_succeed=False)
    found = re.search(r"\d+\.\d+[\w.]*", (output.stdout + output.stderr).decode(errors="replace"))
    return found.group(0) if found else "?"


def verify(token, identity, signature, *options, digest="sha256"):
    """Verifies a signature over MESSAGE with the exported certificate."""
    message = token.file("message", MESSAGE)
    process.run(
        "openssl", "dgst", "-" + digest, "-verify", identity.public_key, "-signature", signature, *options, message)


def pkcs11_tool(token):
    for option in ["-L", "-O", "-M", "-T"]:
        token.tool(option)
    tested = token.tool("--login", "--pin", PIN, "--test").stdout.decode()
    need("No errors" in tested, "pkcs11-tool --test reports errors: " + tested[-300:])
    token.tool("--test-threads", "IN")
    message = token.file("message", MESSAGE)
    for identity in token.of(can="sign"):
        mechanisms = {
            "rsa2048": ["SHA1-RSA-PKCS", "SHA256-RSA-PKCS", "SHA384-RSA-PKCS", "SHA512-RSA-PKCS"],
        }.get(identity.kind, ["ECDSA-SHA1", "ECDSA-SHA256", "ECDSA-SHA384", "ECDSA-SHA512"])
        for mechanism in mechanisms:
            digest = re.search(r"SHA\d+", mechanism).group(0).lower()
            signature = token.file("signature")
            options = [] if identity.kind == "rsa2048" else ["--signature-format", "openssl"]
            token.tool(
                "--sign", "-m", mechanism, "--id", identity.id, "-i", message, "-o", signature, *options)
            verify(token, identity, signature, digest=digest)
    for identity in token.of("rsa2048", "decrypt"):
        for mechanism, padding in [
                ("RSA-PKCS", ["rsa_padding_mode:pkcs1"]),
                ("RSA-PKCS-OAEP", ["rsa_padding_mode:oaep", "rsa_oaep_md:sha256", "rsa_mgf1_md:sha256"])]:
            options = [word for option in padding for word in ("-pkeyopt", option)]
            secret, ciphertext, plain = token.file("secret", MESSAGE), token.file("ciphertext"), token.file("plain")
            process.run(
                "openssl", "pkeyutl", "-encrypt", "-pubin", "-inkey", identity.public_key, "-in", secret, "-out",
                ciphertext, *options)
            more = ["--hash-algorithm", "SHA256", "--mgf", "MGF1-SHA256"] if "OAEP" in mechanism else []
            token.tool(
                "--decrypt", "-m", mechanism, "--id", identity.id, "-i", ciphertext, "-o", plain, *more)
            need(plain.read_bytes() == MESSAGE, f"{mechanism}: the plaintext differs from the message")
    for kind, curve in [("p256", "P-256"), ("p384", "P-384")]:
        for identity in token.of(kind, "derive"):
            ours, theirs = token.file("other.key"), token.file("other.der")
            process.run("openssl", "ecparam", "-name", {"P-256": "prime256v1", "P-384": "secp384r1"}[curve],
                        "-genkey", "-noout", "-out", ours)
            process.run("openssl", "pkey", "-in", ours, "-pubout", "-outform", "DER", "-out", theirs)
            derived, expected = token.file("derived"), token.file("expected")
            token.tool(
                "--derive", "-m", "ECDH1-DERIVE", "--id", identity.id, "-i", theirs, "-o", derived)
            process.run(
                "openssl", "pkeyutl", "-derive", "-inkey", ours, "-peerkey", identity.public_key, "-out", expected)
            need(derived.read_bytes() == expected.read_bytes(), f"{curve}: the derived secret differs from the expected one")
    return package_version("opensc")


def engine(token):
    """The environment in which OpenSSL's engine finds the module, as the printed lines set it."""
    return {"PKCS11_MODULE_PATH": str(token.module)}


def openssl(token):
    message, signature = token.file("message", MESSAGE), token.file("signature")
    for identity in token.of(can="sign"):
        sign = ["openssl", "dgst", "-engine", "pkcs11", "-keyform", "engine", "-sign", identity.key, "-sha256"]
        token.run(*sign, "-out", signature, message, **engine(token))
        verify(token, identity, signature)
        if identity.kind == "rsa2048":
            pss = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:-1"]
            token.run(*sign, *pss, "-out", signature, message, **engine(token))
            verify(token, identity, signature, *pss)
    sealed = token.file("sealed")
    for identity in token.of("rsa2048", "decrypt"):
        for options in [[], ["-keyopt", "rsa_padding_mode:oaep", "-keyopt", "rsa_oaep_md:sha256"]]:
            process.run(
                "openssl", "cms", "-encrypt", "-aes256", "-outform", "DER", "-in", message, "-out", sealed,
                "-recip", identity.certificate, *options)
            plain = token.run(
                "openssl", "cms", "-decrypt", "-engine", "pkcs11", "-keyform", "engine", "-inkey", identity.key,
                "-recip", identity.certificate, "-inform", "DER", "-in", sealed, **engine(token)).stdout
            need(plain.replace(b"\r\n", b"\n") == MESSAGE, "CMS: the plaintext differs from the message")
    return version("openssl", "version") + ", " + package_version("libengine-pkcs11-openssl")


@contextlib.contextmanager
def tls_server(token, *options):
    """An OpenSSL server that asks for a certificate of the test PKI; returns its port."""
    key, certificate, authorities = token.file("server.key"), token.file("server.pem"), token.file("authorities.pem")
    if not certificate.exists():
        process.run(
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-keyout",
            key, "-out", certificate, "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
            "-days", "2")
        token.device.provider("trust", "--force", "-o", authorities)
    port = free_port()
    server = subprocess.Popen(
        ["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-cert", certificate, "-key", key, "-CAfile",
         authorities, "-Verify", "3", "-verify_return_error", "-www", *options],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(port)
        yield port
    finally:
        server.kill()
        server.wait()


def free_port():
    with socket.socket() as any_socket:
        any_socket.bind(("127.0.0.1", 0))
        return any_socket.getsockname()[1]


def wait_for(port):
    """Waits until the port accepts connections."""
    for _ in range(500):
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        time.sleep(0.02)
    raise Missed("the server does not listen")


def logins(token):
    """An identity of each kind of key that authenticates."""
    return [token.of(kind, "sign")[-1] for kind in token.KINDS if token.of(kind, "sign")]


def curl(token):
    for identity in logins(token):
        for tls in ["-tls1_2", "-tls1_3"]:
            with tls_server(token, tls) as port:
                page = token.run(
                    "curl", "-sS", "--max-time", "30", "--engine", "pkcs11", "--cert-type", "ENG", "--cert",
                    identity.url, "--key-type", "ENG", "--key", identity.key, "--cacert", token.file("server.pem"),
                    f"https://localhost:{port}/", **engine(token)).stdout.decode()
                need("Client certificate" in page, f"{identity.kind} {tls}: the client presented no certificate")
    return version("curl", "--version")


def gnutls(token):
    provider = f"--provider={token.module}"
    listing = token.run("p11tool", provider, "--list-all", "pkcs11:").stdout.decode()
    need(listing.count("Type: X.509 Certificate") == 9, "p11tool does not list 9 certificates: " + listing[-300:])
    token.run("p11tool", provider, "--login", "--list-all", "pkcs11:", GNUTLS_PIN=PIN)
    for identity in token.of(can="sign"):
        token.run("p11tool", provider, "--test-sign", identity.key)
        if identity.kind == "rsa2048":
            token.run("p11tool", provider, "--test-sign", "--sign-params=RSA-PSS", "--hash", "SHA256", identity.key)
    for identity in logins(token):
        with tls_server(token) as port:
            page = token.run(
                "gnutls-cli", provider, f"--x509certfile={identity.url}", f"--x509keyfile={identity.key}",
                f"--x509cafile={token.file('server.pem')}", "-p", str(port), "localhost",
                input=b"GET / HTTP/1.0\r\n\r\n").stdout
            need(b"Client certificate" in page, f"{identity.kind}: the client presented no certificate")
    return version("gnutls-cli", "--version")


def ssh(token):
    keys = token.run("ssh-keygen", "-D", token.module).stdout.decode()
    need(keys.count("ssh-rsa ") == 3 and keys.count("ecdsa-sha2-nistp") == 6, "ssh-keygen does not list 3 RSA and 6 EC keys:\n" + keys)
    signing = [line for line in keys.splitlines()]
    home = token.folder / "home"
    agent = token.run("ssh-agent", "-P", f"{token.module.parent}/*").stdout.decode()
    variables = dict(re.findall(r"(SSH_\w+)=([^;]+);", agent))
    try:
        ask = token.file("ask", "#!/bin/sh\necho 123456\n")
        ask.chmod(0o700)
        token.run("ssh-add", "-s", token.module, SSH_ASKPASS=str(ask), SSH_ASKPASS_REQUIRE="force", DISPLAY="x",
                  **variables)
        message = token.file("message", MESSAGE)
        for identity in logins(token):
            public = token.file("login.pub", next(line for line in signing if line.endswith(identity.label)) + "\n")
            token.file("message.sig").unlink(missing_ok=True)
            token.run("ssh-keygen", "-Y", "sign", "-n", "file", "-f", public, message, **variables)
            allowed = token.file("allowed", "tester " + public.read_text())
            token.run("ssh-keygen", "-Y", "verify", "-f", allowed, "-I", "tester", "-n", "file", "-s",
                      token.file("message.sig"), input=MESSAGE)
        token.run("ssh-add", "-e", token.module, **variables)
    finally:
        os.kill(int(variables["SSH_AGENT_PID"]), signal.SIGTERM)
    with ssh_server(token, signing) as port:
        for identity in logins(token):
            public = next(line for line in signing if line.endswith(identity.label))
            token.file("authorized_keys", public + "\n").chmod(0o600)
            (home / ".ssh").mkdir(mode=0o700, exist_ok=True)
            done = token.run(
                "ssh", "-F", "/dev/null", "-I", token.module, "-o", "StrictHostKeyChecking=no", "-o",
                f"UserKnownHostsFile={token.file('known')}", "-o", "PreferredAuthentications=publickey", "-o",
                "BatchMode=yes", "-p", str(port), f"{user_name()}@127.0.0.1", "echo logged in")
            need(b"logged in" in done.stdout, f"{identity.kind}: the login failed")
    return version("ssh", "-V")


def make_server_folder():
    """Creates the folder that an OpenSSH server of root needs; the server admits only its own user, like any other."""
    if os.geteuid() == 0:
        pathlib.Path("/run/sshd").mkdir(exist_ok=True)


def user_name():
    return process.run("id", "-un").stdout.decode().strip()


@contextlib.contextmanager
def ssh_server(token, keys):
    """An OpenSSH server of this user on the loopback, which accepts the keys in `authorized_keys`."""
    host_key = token.file("host_key")
    if not host_key.exists():
        process.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", host_key)
    make_server_folder()
    port = free_port()
    configuration = token.file("sshd_config", f"""
ListenAddress 127.0.0.1:{port}
HostKey {host_key}
PidFile none
AuthorizedKeysFile {token.file('authorized_keys')}
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
# The client offers all nine keys, one after the other.
MaxAuthTries 20
""")
    server = subprocess.Popen(
        ["/usr/sbin/sshd", "-D", "-f", configuration], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    try:
        wait_for(port)
        yield port
    finally:
        server.terminate()
        server.wait()


def nss_database(token, folder):
    """An NSS database in which the module is registered."""
    folder.mkdir(parents=True, exist_ok=True)
    database = f"sql:{folder}"
    token.run("certutil", "-N", "-d", database, "--empty-password")
    token.run("modutil", "-dbdir", database, "-add", "keyshare", "-libfile", token.module, "-force")
    return database


def token_name(token):
    """The token's label."""
    found = re.search(r"token label\s+: (.*)", token.tool("-L").stdout.decode())
    need(found, "the slot has no token")
    return found.group(1).strip()


def nss(token):
    database = nss_database(token, token.folder / "nss")
    pin, name = token.file("pin", PIN + "\n"), token_name(token)
    listing = token.run("certutil", "-L", "-d", database, "-h", "all").stdout.decode()
    need(all(identity.label in listing for identity in token.identities), "certutil -L does not list every identity: " + listing)
    token.run("certutil", "-K", "-d", database, "-h", name, "-f", pin)
    message, signed, sealed = token.file("message", MESSAGE), token.file("signed"), token.file("sealed")
    authorities = token.file("authorities.pem")
    token.device.provider("trust", "--force", "-o", authorities)
    blocks = re.findall(r"-----BEGIN.*?-----END CERTIFICATE-----\n", authorities.read_text(), re.S)
    for number, block in enumerate(blocks):
        token.run("certutil", "-A", "-d", database, "-n", f"authority {number}", "-t", "CT,CT,CT", "-a", input=block.encode())
    for identity in token.of("rsa2048", "sign"):
        token.run(
            "cmsutil", "-S", "-d", database, "-p", PIN, "-N", f"{name}:{identity.label}", "-i", message, "-o", signed)
        process.run("openssl", "cms", "-verify", "-inform", "DER", "-in", signed, "-CAfile", authorities, "-purpose",
                    "any", "-binary", "-out", token.file("verified"))
        need(token.file("verified").read_bytes() == MESSAGE, "cmsutil -S: the signed content differs from the message")
    for identity in token.of("rsa2048", "decrypt"):
        process.run(
            "openssl", "cms", "-encrypt", "-aes256", "-binary", "-outform", "DER", "-in", message, "-out", sealed, identity.certificate)
        plain = token.run("cmsutil", "-D", "-d", database, "-p", PIN, "-i", sealed).stdout
        need(MESSAGE.strip() in plain, "cmsutil -D: the plaintext does not contain the message")
    for identity in logins(token):
        with tls_server(token) as port:
            server = re.sub(r"\s", "", "localhost")
            token.run("certutil", "-A", "-d", database, "-n", "server", "-t", "CT,C,C", "-a",
                      input=token.file("server.pem").read_bytes())
            shown = token.run(
                "tstclnt", "-4", "-h", server, "-p", str(port), "-d", database, "-n", f"{name}:{identity.label}", "-w",
                PIN, "-o", "-Q", succeeds=False)
            need(shown.returncode == 0, f"tstclnt failed with the {identity.kind} key: " + (shown.stdout + shown.stderr).decode()[-300:])
    return package_version("libnss3-tools")


def java(token):
    configuration = token.file("java.cfg", f"name=keyshare\nlibrary={token.module}\nslotListIndex=0\n")
    store = [
        "-keystore", "NONE", "-storetype", "PKCS11", "-storepass", PIN, "-providerClass",
        "sun.security.pkcs11.SunPKCS11", "-providerArg", configuration,
    ]
    listing = token.run("keytool", "-list", *store).stdout.decode()
    need(listing.count("PrivateKeyEntry") == 9, "keytool does not list 9 private keys: " + listing)
    for identity in logins(token):
        request = token.run("keytool", "-certreq", "-alias", identity.label, *store).stdout
        checked = process.run("openssl", "req", "-verify", "-noout", input=request)
        need(b"OK" in checked.stdout + checked.stderr, f"{identity.kind}: the request does not verify")
    return version("java", "-version")


PYTHON = """
import sys, PyKCS11
from PyKCS11 import CKA_CLASS, CKA_ID, CKO_PRIVATE_KEY, CKM_RSA_PKCS, CKM_ECDSA_SHA256, CKM_SHA256_RSA_PKCS, Mechanism
library = PyKCS11.PyKCS11Lib()
library.load(sys.argv[1])
slot = library.getSlotList(tokenPresent=True)[0]
session = library.openSession(slot, PyKCS11.CKF_SERIAL_SESSION | PyKCS11.CKF_RW_SESSION)
session.login(sys.argv[2])
identifier, operation, data = bytes.fromhex(sys.argv[3]), sys.argv[4], open(sys.argv[5], 'rb').read()
key = session.findObjects([(CKA_CLASS, CKO_PRIVATE_KEY), (CKA_ID, identifier)])[0]
if operation == 'decrypt':
    result = session.decrypt(key, data, Mechanism(CKM_RSA_PKCS, None))
else:
    mechanism = CKM_SHA256_RSA_PKCS if operation == 'rsa' else CKM_ECDSA_SHA256
    result = session.sign(key, data, Mechanism(mechanism, None))
open(sys.argv[6], 'wb').write(bytes(result))
session.logout()
session.closeSession()
"""


def pykcs11(token):
    message, output = token.file("message", MESSAGE), token.file("output")
    python = sys.executable if shutil.which("python3") is None else "/usr/bin/python3"
    for identity in token.of("rsa2048", "sign"):
        token.run(python, "-c", PYTHON, token.module, PIN, identity.id, "rsa", message, output)
        verify(token, identity, output)
    for kind, size in [("p256", 64), ("p384", 96)]:
        token.run(python, "-c", PYTHON, token.module, PIN, token.of(kind, "sign")[0].id, "ec", message, output)
        need(len(output.read_bytes()) == size, f"{kind}: the signature does not have {size} bytes")
    for identity in token.of("rsa2048", "decrypt"):
        ciphertext = token.file("ciphertext")
        process.run(
            "openssl", "pkeyutl", "-encrypt", "-pubin", "-inkey", identity.public_key, "-in", message, "-out", ciphertext)
        token.run(python, "-c", PYTHON, token.module, PIN, identity.id, "decrypt", ciphertext, output)
        need(output.read_bytes() == MESSAGE, "the plaintext differs from the message")
    # The package's own programs, which request everything that a token contains.
    for example in ["getinfo", "dumpit"]:
        program = pathlib.Path("/usr/share/doc/python3-pykcs11/examples", example + ".py")
        if program.exists():
            token.run(python, program, "-p", PIN, "-c", token.module)
    return package_version("python3-pykcs11")


def p11_kit(token):
    # Programs that run as root read only the system's configuration.
    modules = pathlib.Path("/etc/pkcs11/modules") if os.geteuid() == 0 else token.folder / "home/.config/pkcs11/modules"
    modules.mkdir(parents=True, exist_ok=True)
    file = modules / "keyshare-interop.module"
    file.write_text(f"module: {token.module}\n")
    try:
        listing = token.run("p11-kit", "list-modules").stdout.decode()
        need("keyshare" in listing and "persistent token" in listing, "p11-kit does not list the module")
        # GnuTLS and the engine find it without being configured for the module.
        identity = logins(token)[0]
        need("KeyShare" in token.run("p11tool", "--list-tokens").stdout.decode(), "p11tool finds no token")
        message, signature = token.file("message", MESSAGE), token.file("signature")
        token.run("openssl", "dgst", "-engine", "pkcs11", "-keyform", "engine", "-sign", identity.key, "-sha256", "-out", signature, message)
        verify(token, identity, signature)
    finally:
        file.unlink()
    return package_version("p11-kit")


def login_modes(token):
    """Programs that log in if the provider requires it; with `+always` those that can."""
    for mode in ["path", "pin", "pin+always"]:
        with type(token)(kinds=("rsa2048",), serve=("--token-login", mode), pin=PIN) as other:
            tested = other.tool("--login", "--pin", PIN, "--test").stdout.decode()
            need("No errors" in tested, f"{mode}: pkcs11-tool --test reports errors: {tested[-300:]}")
            identity = logins(other)[0]
            other.run("p11tool", f"--provider={other.module}", "--login", "--test-sign", identity.key, GNUTLS_PIN=PIN)
            message, signature = other.file("message", MESSAGE), other.file("signature")
            other.run("openssl", "dgst", "-engine", "pkcs11", "-keyform", "engine", "-sign", f"{identity.key}?pin-value={PIN}",
                      "-sha256", "-out", signature, message, **engine(other))
            verify(other, identity, signature)
            configuration = other.file("java.cfg", f"name=keyshare\nlibrary={other.module}\nslotListIndex=0\n")
            listing = other.run(
                "keytool", "-list", "-keystore", "NONE", "-storetype", "PKCS11", "-storepass", PIN, "-providerClass",
                "sun.security.pkcs11.SunPKCS11", "-providerArg", configuration).stdout.decode()
            need(listing.count("PrivateKeyEntry") == 3, f"{mode}: keytool does not list 3 private keys: {listing}")
    return ""


def chromium(token):
    database = nss_database(token, token.folder / "home/.pki/nssdb")
    authorities = token.file("authorities.pem")
    token.device.provider("trust", "--force", "-o", authorities)
    policies = pathlib.Path("/etc/chromium/policies/managed")
    policy = policies / "keyshare-interop.json"
    with tls_server(token) as port:
        token.run("certutil", "-A", "-d", database, "-n", "server", "-t", "C,,", "-a",
                  input=token.file("server.pem").read_bytes())
        policies.mkdir(parents=True, exist_ok=True)
        policy.write_text(
            f'{{"AutoSelectCertificateForUrls": ["{{\\"pattern\\":\\"https://localhost:{port}\\",\\"filter\\":{{}}}}"]}}')
        try:
            page = token.run(
                "chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom",
                f"--user-data-dir={token.folder / 'home/chromium'}", f"https://localhost:{port}/", succeeds=False,
                timeout=180).stdout.decode(errors="replace")
        finally:
            policy.unlink()
        need("Client certificate" in page, "the browser presented no certificate: " + page[-300:])
    return version("chromium", "--version")
