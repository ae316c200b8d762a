"""Places where a secret must not appear."""
import base64
import os
import pathlib
import subprocess

from hardening_rows.peers import NOBODY
from hardening_rows.pkcs11 import CALLER, Registered
from toolbox import build, process
from toolbox.device import Device
from toolbox.report import Skip, need


def spellings(secret):
    """The secret as it might be written: plain, base64 at each alignment, hexadecimal, UTF-16."""
    forms = {"plain": secret, "hex": secret.hex().encode(), "HEX": secret.hex().upper().encode()}
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + secret)
        # Omits the digits that also depend on the neighbouring bytes.
        forms[f"base64+{shift}"] = encoded[(shift * 8 + 5) // 6:-4]
    text = secret.decode()
    forms["UTF-16LE"], forms["UTF-16BE"] = text.encode("utf-16-le"), text.encode("utf-16-be")
    return forms


def canary(full):
    """The service password after many fetches: in files, logs, command lines and environments."""
    fetches = 1000
    with Device() as device:
        device.provision(types="signature,encryption")
        device.serve("--verbose")
        labels = device.labels()
        forms, places, seen = {}, {}, {}

        def look(name, data):
            places[name] = places.get(name, 0) + 1
            for form, needle in forms.items():
                if needle in data:
                    seen[f"{form} in {name}"] = True

        def look_at_processes():
            for identifier in filter(str.isdigit, os.listdir("/proc")):
                for part in ("cmdline", "environ"):
                    try:
                        with open(f"/proc/{identifier}/{part}", "rb") as file:
                            look("argv" if part == "cmdline" else "environ", file.read())
                    except OSError:
                        pass

        connection = device.client()
        passwords = {connection.fetch(labels[0])[1]}
        need(len(passwords) == 1 and len(next(iter(passwords))) == 32, "no password to look for")
        forms = spellings(next(iter(passwords)))
        look("control", b"x" + next(iter(passwords)) + b"y")
        need("plain in control" in seen, "the search finds nothing")
        need(base64.b64encode(b"ab" + next(iter(passwords))).find(forms["base64+2"]) > 0, "the search is wrong")
        seen.clear()
        for number in range(fetches):
            passwords.add(connection.fetch(labels[number % len(labels)])[1])
            if number % 200 == 0:
                look_at_processes()
        # The fetched items are added to the consumer's keychain.
        imported = device.run("keyshare-consumer", "import", labels[0], "--verbose", "--json")
        need(imported.returncode == 0, "the import failed")
        look("output", (imported.stdout + imported.stderr).encode())
        need(len(passwords) == 1, "the password changed during the search")
        for folder, _, names in os.walk(device.scratch):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.isfile(path):
                    with open(path, "rb") as file:
                        look("log" if path == device.log else "WAL" if name.endswith("-wal") else "file", file.read())
        need(os.path.getsize(device.log) > 10_000, "the verbose log is empty")
        need(not seen, "found: " + ", ".join(seen))
    looked = ", ".join(f"{count} {name}" for name, count in places.items() if name != "control")
    return f"{fetches} fetches, 0 hits in {looked}"


def freed(full):
    """Memory that commands and the module free while it contains a password or a PIN."""
    secret, programs = "correct horse battery staple", 0

    def need_wiped(errors):
        nonlocal programs
        programs += 1
        need("with the secret" not in errors, f"{errors.count('with the secret')} blocks of memory freed with a secret")

    with Registered("--token-login", "pin") as device:
        library = build.compile_c(
            pathlib.Path(__file__).with_name("freed.c"), os.path.join(device.scratch, "freed.so"), "-shared", "-fPIC")
        password = os.path.join(device.scratch, "password")
        with open(password, "w") as file:
            file.write(secret)

        def run(name, *arguments):
            run = device.run(name, *arguments, "--password-file", password, LD_PRELOAD=library, SECRET=secret)
            need(run.returncode == 0, f"{arguments[0]} ended with {run.returncode}: {run.stderr.strip()}")
            need_wiped(run.stderr)

        path = os.path.join(device.scratch, "file.p12")
        for profile in ["modern", "compatible", "purebred-sample", "pbmac1"]:
            run("keyshare-provider", "export", device.labels()[0], "--profile", profile, "-o", path, "--force")
            run("keyshare-consumer", "inspect", path)
        run("keyshare-consumer", "import", "--file", path)
        # OpenSSL derives the key of this MAC; this package derives those of the usual ones.
        process.run(
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-noenc", "-subj", "/CN=x", "-keyout", path + ".key",
            "-out", path + ".crt")
        process.run(
            "openssl", "pkcs12", "-export", "-inkey", path + ".key", "-in", path + ".crt", "-macalg", "sha384",
            "-passout", "file:" + password, "-out", path)
        run("keyshare-consumer", "inspect", path)

        pin = "123456"
        caller = device.caller(
            "logins", "pin", pin, program=CALLER.with_name("pkcs11_logins.py"), LD_PRELOAD=library, SECRET=pin)
        _, errors = caller.communicate(timeout=120)
        need(caller.returncode == 0, f"the module ended with {caller.returncode}: {errors.strip()[-300:]}")
        need_wiped(errors)
    return f"{programs} programs, 0 blocks"


def no_core(full):
    """A provider of another user than root. Root owns the /proc files of a process that must not be
    dumped, and such a process terminates without a core (PR_SET_DUMPABLE in prctl(2))."""
    if os.geteuid() != 0:
        raise Skip("root is required to start the provider as another user")
    with Device() as device:
        os.makedirs(device.path)
        for path in (device.scratch, device.path):
            os.chown(path, NOBODY, NOBODY)
            os.chmod(path, 0o700)
        # The built command may be in a folder that another user cannot enter.
        command = os.path.join(device.scratch, "keyshare-provider")
        subprocess.run(["cp", device.command("keyshare-provider"), command], check=True)
        drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]
        server = subprocess.Popen(
            [*drop, command, "serve"], env=device.environment(), cwd=device.scratch,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            # A new device is reported first.
            lines = iter(server.stderr.readline, b"")
            need(any(b"listening on" in line for line in lines), "the provider did not start")
            need(os.stat(f"/proc/{server.pid}/environ").st_uid == 0, "the process may be dumped and traced")
            with open(f"/proc/{server.pid}/limits") as file:
                limit = next(line for line in file if line.startswith("Max core file size")).split()
            need(limit[4:6] == ["0", "0"], "the core size limit is not 0")
            traced = subprocess.run(
                [*drop, "cat", f"/proc/{server.pid}/environ"], capture_output=True)
            need(traced.returncode != 0, "its own user reads its environment")
            server.send_signal(6)
            need(server.wait(30) == -6, "the signal did not end the provider")
            cores = [name for name in os.listdir(device.scratch) if name.startswith("core")]
            need(not cores, "a core was left")
        finally:
            if server.poll() is None:
                server.kill()
                server.wait()
    return "PR_SET_DUMPABLE 0 and RLIMIT_CORE 0; no core after SIGABRT"
