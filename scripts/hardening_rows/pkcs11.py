"""Test rows for the PKCS #11 module: ill-behaved programs that load it, and providers that return false replies."""
import os
import pathlib
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

from toolbox import build
from toolbox.device import Device
from toolbox.report import Skip, need

CALLER = pathlib.Path(__file__).with_name("pkcs11_caller.py")
# The module under the address sanitizer, which `asan` builds.
SANITIZED = build.PACKAGE / ".build-asan-module"


class Registered(Device):
    """A device with registered tokens and a running provider."""

    def __init__(self, *serve):
        super().__init__()
        self.options = serve
        for key, edipi in [("rsa2048", 1000000001), ("p256", 1000000002)]:
            self.provider("provision", "--key", key, "--generations", "1", "--edipi", str(edipi),
                          "--types", "signature,encryption")
        self.provider("token", "add", "--all")
        self.serve(*serve)

    def caller(self, *arguments, program=CALLER, module=None, **variables):
        """Starts a program that loads the module."""
        return subprocess.Popen(
            [sys.executable, program, module or build.module(), *map(str, arguments)], env=self.environment(**variables),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def call(self, *arguments, timeout=600, **variables):
        """Runs a program that loads the module until it ends, and returns its output."""
        return ended(self.caller(*arguments, **variables), timeout)


def ended(process, timeout=600):
    try:
        output, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        need(False, f"no end within {timeout} s")
    need(process.returncode == 0, f"ended with {process.returncode}: {errors.strip()[-300:]}")
    return output.strip().splitlines()[-1]


def arguments(full):
    with Registered() as device:
        return device.call("arguments")


def sequences(full):
    with Registered() as device:
        said = [device.call("sequences", 10_000, seed) for seed in range(1, 6 if full else 2)]
        device.need_alive()
        return ", ".join(said)


class Liar:
    """A proxy between the module and the provider that changes every third reply."""

    def __init__(self, path, behind):
        self.behind = behind
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(64)
        self.random = random.Random(7)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def serve(self, peer):
        with peer, socket.socket(socket.AF_UNIX) as provider:
            provider.connect(self.behind)
            try:
                while request := frame(peer):
                    provider.sendall(request)
                    for part in self.changed(frame(provider)):
                        peer.sendall(part)
            except OSError:
                pass

    def changed(self, answer):
        if self.random.random() > 0.3:
            return [answer]
        body, choose = bytearray(answer), self.random.randrange(9)
        if choose == 0:
            for _ in range(self.random.randint(1, 8)):
                body[self.random.randrange(len(body))] = self.random.randrange(256)
        elif choose == 1:
            place = self.random.randrange(9, len(body)) if len(body) > 9 else 4
            body[place:] = self.random.randbytes(len(body) - place)
        elif choose == 2:
            body = body[:self.random.randrange(4, len(body))]
            body[:4] = struct.pack(">I", len(body) - 4)
        elif choose == 3:
            body += self.random.randbytes(100)
            body[:4] = struct.pack(">I", len(body) - 4)
        elif choose == 4:
            body[:4] = self.random.choice([b"\0\0\0\0", b"\0\0\0\5", b"\xff\xff\xff\xff", b"\0\1\0\0"])
        elif choose == 5:
            body[4] = self.random.randrange(256)
        elif choose == 6:
            body[5:9] = self.random.randbytes(4)
        elif choose == 7:
            return [bytes(body[:len(body) // 2]), bytes(body[len(body) // 2:])]
        else:
            return [bytes(body), bytes(body)]
        return [bytes(body)]


class Staller(Liar):
    """Sends half of each reply to a key use, and keeps the connection open."""

    def changed(self, answer):
        return [answer[:len(answer) // 2]] if answer[4:5] == b"\x8f" else [answer]


def frame(peer):
    """The next frame, or the bytes before the end of the connection."""
    head = peer.recv(4, socket.MSG_WAITALL)
    return head + peer.recv(struct.unpack(">I", head)[0], socket.MSG_WAITALL) if len(head) == 4 else b""


def liar(full):
    with Registered() as device:
        path = os.path.join(device.scratch, "liar")
        Liar(path, device.socket)
        said = device.call("liar", 120 if full else 20, KEYSHARE_SOCKET=path)
        half = os.path.join(device.scratch, "half")
        Staller(half, device.socket)
        said += ", half an answer costs " + device.call("stalled", KEYSHARE_SOCKET=half)
        quiet = os.path.join(device.scratch, "quiet")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(quiet)
            listener.listen(64)
            return said + ", silence costs " + device.call("silent", KEYSHARE_SOCKET=quiet)


def lies(full):
    """One provider for each false reply, and the module's view of correct lists."""
    with Device() as device:
        said = []
        for program in ["pkcs11_lies.py", "pkcs11_shown.py", "pkcs11_guards.py", "pkcs11_calls.py"]:
            said.append(ended(subprocess.Popen(
                [sys.executable, CALLER.with_name(program), build.module(), "all"], env=device.environment(),
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)))
        return ", ".join(said)


def rules(full):
    """The rules of the standard, and the login modes."""
    with Registered() as device:
        said = [ended(device.caller(program=CALLER.with_name("pkcs11_rules.py"))),
                "computed by the module " + ended(device.caller(program=CALLER.with_name("pkcs11_software.py")))]
    logins = CALLER.with_name("pkcs11_logins.py")
    for mode in ["presence", "path", "pin", "path+always", "pin+always"]:
        with Registered("--token-login", mode) as device:
            said.append(f"{mode} " + ended(device.caller("logins", mode, program=logins)))
    # A provider that ended looks like one that closed a connection; only a key use distinguishes them.
    for end, action in [("lock", "uses"), ("lock", "asks"), ("lock", "searches"), ("lock", "logs in"), ("restart", "uses")]:
        with Registered("--token-login", "pin") as device:
            caller = device.caller("over", action, program=logins)
            need(caller.stdout.readline() == "ready\n", "the login fails")
            if end == "lock":
                for word in ["lock", "unlock"]:
                    need(device.run("keyshare-device", word).returncode == 0, word)
            else:
                device.stop()
                device.serve("--token-login", "pin")
            caller.stdin.write("\n")
            caller.stdin.flush()
            said.append(f"after a {end} one that {action} " + ended(caller))
    return ", ".join(said)


def asan(full):
    """Random sequences of calls, wrong arguments and false replies, with the module under the address sanitizer."""
    clang = pathlib.Path(os.path.realpath(shutil.which("swiftc"))).with_name("clang")
    runtime = subprocess.run(
        [clang, "-print-file-name=libclang_rt.asan.so"], stdout=subprocess.PIPE, text=True).stdout.strip()
    if not os.path.exists(runtime):
        runtime = subprocess.run(
            [clang, "-print-file-name=libclang_rt.asan-x86_64.so"], stdout=subprocess.PIPE, text=True).stdout.strip()
    if not os.path.exists(runtime):
        raise Skip("the toolchain has no shared runtime of the address sanitizer")
    flags = ["--sanitize=address", "--scratch-path", SANITIZED, "--product", "keyshare-pkcs11", "-Xswiftc", "-use-ld=lld",
             "-Xlinker", "--allow-shlib-undefined", "-Xlinker", "-z", "-Xlinker", "undefs"]
    made = subprocess.run(["swift", "build", *flags], cwd=build.PACKAGE, capture_output=True, text=True)
    need(made.returncode == 0, "the module cannot be built: " + made.stdout[-500:])
    module = SANITIZED / "debug/libkeyshare-pkcs11.so"
    variables = {"LD_PRELOAD": runtime, "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1", "PYTHONMALLOC": "malloc"}
    said = []
    with Registered() as device:
        # The control: a buffer that is shorter than its caller claims must be detected.
        control = device.caller("lying-length", module=module, **variables)
        need("heap-buffer-overflow" in control.communicate(timeout=600)[1], "the sanitizer does not detect the planted overflow")
        for what in [("arguments",), ("sequences", 10_000, 7), ("attacks",), ("threads", 16, 20), ("forks", 20)]:
            said.append(what[0] + " " + ended(device.caller(*what, module=module, **variables), 3_600))
        for program in ["pkcs11_rules.py", "pkcs11_software.py"]:
            said.append(program + " " + ended(
                device.caller(program=CALLER.with_name(program), module=module, **variables), 3_600))
        # The sanitizer keeps freed memory, so cases that use much memory are skipped.
        for lie in ["signature-long", "signature-beyond-the-key", "plaintext-very-long", "secret-long", "frame-beyond-the-buffer"]:
            said.append(lie + " " + ended(device.caller(
                lie, program=CALLER.with_name("pkcs11_lies.py"), module=module, **variables), 600))
        path = os.path.join(device.scratch, "liar")
        Liar(path, device.socket)
        said.append("liar " + ended(
            device.caller("liar", 120 if full else 20, module=module, KEYSHARE_SOCKET=path, **variables), 600))
    for mode in ["path", "pin+always"]:
        with Registered("--token-login", mode) as device:
            said.append(f"{mode} " + ended(device.caller(
                "logins", mode, program=CALLER.with_name("pkcs11_logins.py"), module=module, **variables), 600))
    return ", ".join(said)


def forks(full):
    with Registered() as device:
        return device.call("forks")


def unloads(full):
    with Registered() as device:
        return device.call("unload", 200 if full else 20)


def threads(full):
    with Registered() as device:
        return device.call("threads", 64, 1_000 if full else 50, timeout=3_600)


def processes(full):
    """Several programs at once, each with several threads."""
    with Registered() as device:
        running = [device.caller("threads", 4, 500 if full else 50) for _ in range(4)]
        return "; ".join(ended(one, 3_600) for one in running)


def restarts(full):
    said = []
    for kind in ["sign", "parts", "decrypt", "derive", "find", "attributes", "info", "slots", "sessions", "login"]:
        with Registered() as device:
            caller = device.caller(kind, program=CALLER.with_name("pkcs11_restarts.py"))
            need(caller.stdout.readline() == "ready\n", "the caller does not begin")
            for _ in range(20 if full else 3):
                time.sleep(0.2)
                device.server.send_signal(signal.SIGKILL)
                device.server.wait()
                device.serve()
            time.sleep(0.2)
            caller.stdin.write("\n")
            caller.stdin.flush()
            said.append(ended(caller, 60))
    return "; ".join(said)


def attacks(full):
    with Registered() as device:
        return device.call("attacks")
