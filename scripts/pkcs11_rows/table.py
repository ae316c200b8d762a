"""The table of clients: the operations of each program with the token, and its requirements."""
import os
import re
import shutil
import subprocess
import time

from pkcs11_rows.clients import ENGINES, chromium, curl, gnutls, java, login_modes, nss, openssl, p11_kit, pkcs11_tool, pykcs11, ssh
from pkcs11_rows.printed import printed, recipes, tutorial
from toolbox import install
from toolbox.build import PACKAGE
from toolbox.report import Missed, need

PAGE = PACKAGE / "docs/token.md"


class Row:
    """A row of the table: a program, its cells in docs/token.md (lists, signs, decrypts, logs in; None for a row that tests
    no program), the required Debian packages, keyed by the program or file that they provide, and the test function."""

    def __init__(self, name, title, cells, packages, try_it):
        self.name, self.title, self.cells, self.packages, self.try_it = name, title, cells, packages, try_it


RSA_EC = "RSA, P-256, P-384"
ROWS = [
    Row("pkcs11-tool", "pkcs11-tool, with its own `--test --login`", ["yes", RSA_EC, "PKCS #1, OAEP; ECDH", ""],
        {"pkcs11-tool": "opensc"}, pkcs11_tool),
    Row("OpenSSL with its engine", "OpenSSL with the engine of libp11",
        ["yes", "RSA with PKCS #1 and PSS, P-256, P-384", "CMS with PKCS #1 and OAEP", ""],
        {ENGINES: "libengine-pkcs11-openssl"}, openssl),
    Row("curl, TLS 1.2 and 1.3", "curl with that engine", ["", "", "", f"TLS 1.2 and 1.3; {RSA_EC}"],
        {"curl": "curl", ENGINES: "libengine-pkcs11-openssl"}, curl),
    Row("GnuTLS", "GnuTLS: p11tool, gnutls-cli", ["yes", "RSA with PKCS #1 and PSS, P-256, P-384", "", f"TLS; {RSA_EC}"],
        {"gnutls-cli": "gnutls-bin"}, gnutls),
    Row("ssh, ssh-agent, sshd", "ssh, ssh-agent, sshd", ["yes", "files, through the agent", "", RSA_EC],
        {"ssh": "openssh-client", "/usr/sbin/sshd": "openssh-server"}, ssh),
    Row("NSS: certutil, cmsutil, tstclnt", "NSS: certutil, cmsutil, tstclnt",
        ["yes", "CMS with RSA", "CMS with RSA", f"TLS; {RSA_EC}"], {"certutil": "libnss3-tools"}, nss),
    Row("Java: keytool", "Java: keytool", ["yes", f"requests; {RSA_EC}", "", ""],
        {"keytool": "default-jre-headless"}, java),
    Row("PyKCS11", "PyKCS11", ["yes", RSA_EC, "RSA", ""],
        {"/usr/lib/python3/dist-packages/PyKCS11": "python3-pykcs11"}, pykcs11),
    Row("p11-kit", "p11-kit, and GnuTLS and OpenSSL through it", ["yes", "RSA", "", ""], {"p11-kit": "p11-kit"}, p11_kit),
    Row("Chromium, headless", "Chromium, headless", ["", "", "", "TLS with RSA"], {"chromium": "chromium"}, chromium),
    Row("logging in: path, pin, +always", None, None, {"pkcs11-tool": "opensc", "gnutls-cli": "gnutls-bin"}, login_modes),
    Row("the printed lines", None, None, {"p11-kit": "p11-kit"}, printed),
    Row("the recipes", None, None, {"curl": "curl", "certutil": "libnss3-tools"}, recipes),
    Row("the tutorial", None, None, {"ssh": "openssh-client", "/usr/sbin/sshd": "openssh-server"}, tutorial),
]


def table(versions):
    """The table of docs/token.md, with the versions by the names of the rows."""
    lines = ["| program | tried with | lists | signs | decrypts | logs in |", "|---|---|---|---|---|---|"]
    lines += ["| " + " | ".join([row.title, versions[row.name], *row.cells]) + " |" for row in ROWS if row.title]
    return "\n".join(line.replace("|  |", "| |").replace("|  |", "| |") for line in lines) + "\n"


def run(wanted):
    """Runs the rows whose names contain one of the texts, or all; returns 1 if one fails. With `--write` the table of
    docs/token.md gets the versions of these programs, once every row has succeeded. With `--install` no row runs, and
    only the packages of the rows are installed."""
    from pkcs11_rows.token import Token
    writes, only_installs = "--write" in wanted, "--install" in wanted
    wanted = [part for part in wanted if part not in ("--write", "--install")]
    rows = [row for row in ROWS if not wanted or any(part in row.name for part in wanted)]
    need(rows, "no row has a matching name")
    need(not (writes and wanted), "--write requires all rows; remove the names")
    missing = {tool: package for row in rows for tool, package in row.packages.items()
               if not (os.path.exists(tool) if tool.startswith("/") else shutil.which(tool))}
    if missing:
        install.tools({f"{tool} is missing": package for tool, package in missing.items()})
    if only_installs:
        return 0
    failures, versions = 0, {}
    with Token() as token:
        for row in rows:
            begun = time.monotonic()
            try:
                outcome = versions[row.name] = row.try_it(token)
            except (Missed, OSError, subprocess.SubprocessError, KeyError, StopIteration) as reason:
                outcome, failures = f"FAILS: {reason!r}" if not isinstance(reason, Missed) else f"FAILS: {reason}", failures + 1
            print(f"{row.name:34}{time.monotonic() - begun:6.1f} s  {outcome}", flush=True)
    print(f"{len(rows)} clients, {failures} failures")
    if writes and not failures:
        text = PAGE.read_text(encoding="utf-8")
        old = re.search(r"\| program \| tried with .*?\n(?=\n)", text, re.S)
        need(old, f"{PAGE} has no table of programs")
        PAGE.write_text(text.replace(old.group(0), table(versions)), encoding="utf-8")
    return 1 if failures else 0
