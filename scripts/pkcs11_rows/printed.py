"""Runs the instructions that this package prints for clients of the token, as printed."""
import os
import re
import shutil
import subprocess

from pkcs11_rows.clients import MESSAGE, free_port, logins, make_server_folder, ssh_server, tls_server, user_name
from toolbox.build import PACKAGE
from toolbox.report import need


def printed(token):
    """Runs the output of `keyshare-device pkcs11 --for` as printed, with the words in capitals replaced."""
    identity = logins(token)[0]
    file = token.file("letter", MESSAGE)
    environment = {**token.environment(), "PATH": f"{token.device.commands}:{os.environ['PATH']}", "DISPLAY": "x", "SSH_ASKPASS": str(token.file("ask", "#!/bin/sh\necho 1234\n")),
                   "SSH_ASKPASS_REQUIRE": "force"}
    token.file("ask").chmod(0o700)
    with tls_server(token) as port, ssh_server(token, []) as ssh_port:
        token.file("authorized_keys").write_bytes(token.run("ssh-keygen", "-D", token.module).stdout)
        token.file("authorized_keys").chmod(0o600)
        for client in ["ssh", "openssl", "curl", "nss", "java", "gnutls", "p11-kit"]:
            run = token.device.run("keyshare-device", "pkcs11", "--for", client, "--module", str(token.module))
            need(run.returncode == 0, run.stderr)
            script = run.stdout.replace("LABEL", identity.label.replace(" ", "%20")).replace("FILE", str(file))
            script = script.replace("URL", f"--cacert {token.file('server.pem')} -sS https://localhost:{port}/")
            if client == "ssh":
                script = script.replace(
                    " HOST", f" -F /dev/null -o StrictHostKeyChecking=no -o BatchMode=yes -o UserKnownHostsFile={token.file('known')}"
                             f" -p {ssh_port} {user_name()}@127.0.0.1 true", )
                script = "\n".join(line for line in script.splitlines() if not line.startswith("#"))
                script += "\nkill $SSH_AGENT_PID\n"
            else:
                script = script.replace(" HOST", f" --x509cafile={token.file('server.pem')} -p {port} localhost < /dev/null")
            # The example that decrypts a message needs a message for the key, which this trial does not have.
            script = "\n".join(line for line in script.splitlines() if "MESSAGE.eml" not in line)
            done = subprocess.run(
                ["bash", "-ec", script], env=environment, cwd=token.folder, capture_output=True, timeout=120,
                stdin=subprocess.DEVNULL)
            need(done.returncode == 0, f"{client}: {done.stderr.decode()[-400:]}\n{script}")
            shutil.rmtree(token.folder / "home/.config", ignore_errors=True)
            shutil.rmtree(token.folder / "home/.pki", ignore_errors=True)
    return ""


def recipes(token):
    """The recipes of docs/token.md for curl and a browser, with the words in capitals filled in."""
    page = (PACKAGE / "docs/token.md").read_text(encoding="utf-8")
    label = logins(token)[0].label.replace(" ", "%20")
    environment = {**token.environment(), "PATH": f"{token.device.commands}:{os.environ['PATH']}"}
    with tls_server(token) as port:
        url = f"--cacert {token.file('server.pem')} -sS https://localhost:{port}/"
        for title, expected in [("curl", b"Client certificate"), ("A browser", logins(token)[0].label.encode())]:
            block = re.search(rf"^### {title}\n+```\n(.*?)```", page, re.S | re.M)
            need(block, f"docs/token.md has no recipe for {title}")
            done = subprocess.run(
                ["bash", "-ec", block.group(1).replace("LABEL", label).replace("URL", url)], env=environment,
                cwd=token.folder, capture_output=True, timeout=120, stdin=subprocess.DEVNULL)
            need(done.returncode == 0 and expected in done.stdout, f"{title}: {(done.stdout + done.stderr).decode()[-400:]}")
    shutil.rmtree(token.folder / "home/.pki", ignore_errors=True)
    return ""


def tutorial(token):
    """The commands of the tutorial about ssh, in a folder and on a device of their own."""
    folder = token.folder / "tutorial"
    folder.mkdir()
    page = (PACKAGE / "docs/tutorials/token-with-ssh.md").read_text(encoding="utf-8")
    lines = [line[2:] for block in re.findall(r"```console\n(.*?)```", page, re.S) for line in block.splitlines()]
    need(len(lines) > 15, "the tutorial has no commands")
    port = str(free_port())
    make_server_folder()
    script = ["set -e", "cd " + str(folder), "trap 'kill $(jobs -p) $SSH_AGENT_PID 2>/dev/null || true' EXIT"]
    for line in lines:
        script.append(line.replace("2222", port))
        # A user who types the commands takes longer than the servers need.
        if line.startswith("keyshare-provider serve"):
            script.append("until keyshare-consumer browse >/dev/null 2>&1; do :; done")
        if "/sshd -D" in line:
            script.append(f"until (: </dev/tcp/127.0.0.1/{port}) 2>/dev/null; do :; done")
    commands = str(token.device.commands)
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)], capture_output=True, timeout=120, stdin=subprocess.DEVNULL,
        env={"PATH": f"{commands}:{os.environ['PATH']}", "HOME": str(folder), "KEYSHARE_DEVICE": str(folder / "device"),
             "LC_ALL": "C.UTF-8"})
    need(done.returncode == 0, f"the tutorial ends with {done.returncode}: {done.stderr.decode()[-600:]}")
    need(done.stdout.count(b"logged in") == 2, "not every login of the tutorial succeeds")
    return ""
