"""What every row of scripts/hardening needs: commands, devices, a provider, and how a row ends."""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import keyshare_client  # noqa: E402

BIN = os.environ.get("KEYSHARE_BIN", os.path.join(ROOT, ".build", "debug"))
SOUND_CODES = {0, 3, 4, 5, 6, 7, 8, 9, 10, 64, 73, 74}


class Skip(Exception):
    """The row cannot run here; says why."""


class Missed(Exception):
    """The row's figure was not reached; says what came instead."""


def need(condition, message):
    if not condition:
        raise Missed(message)


class Device:
    """A simulated device in a scratch folder, and the commands on it."""

    def __init__(self, folder=None):
        self.scratch = folder or tempfile.mkdtemp(prefix="ks-", dir="/tmp")
        self.path = os.path.join(self.scratch, "device")
        self.socket = os.path.join(self.path, "provider.sock")
        self.server = None
        self.log = os.path.join(self.scratch, "log")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def environment(self, **extra):
        return {"PATH": os.environ["PATH"], "HOME": self.scratch, "KEYSHARE_DEVICE": self.path, **extra}

    def start(self, command, *arguments, output=subprocess.DEVNULL, **extra):
        return subprocess.Popen(
            [os.path.join(BIN, command), *arguments], env=self.environment(**extra),
            stdin=subprocess.DEVNULL, stdout=output, stderr=output)

    def run(self, command, *arguments, timeout=120, **extra):
        return subprocess.run(
            [os.path.join(BIN, command), *arguments], env=self.environment(**extra), timeout=timeout,
            stdin=subprocess.DEVNULL, capture_output=True, text=True)

    def provider(self, *arguments, **extra):
        run = self.run("keyshare-provider", *arguments, **extra)
        need(run.returncode == 0, f"{arguments[0]} ended with {run.returncode}: {run.stderr.strip()}")
        return run.stdout

    def provision(self, persons=1, types="signature"):
        self.provider(
            "provision", "--key", "p256", "--generations", "1", "--count", str(persons), "--types", types)

    def labels(self):
        items = json.loads(self.provider("list", "--json"))["items"]
        return [item["identifier"] for item in items if item["kind"] == "pkcs12"]

    def serve(self, *arguments, prefix=(), **extra):
        """Starts the provider; gives the seconds until it answers."""
        begun = time.monotonic()
        with open(self.log, "ab") as log:
            self.server = subprocess.Popen(
                [*prefix, os.path.join(BIN, "keyshare-provider"), "serve", *arguments],
                env=self.environment(**extra), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        while True:
            try:
                keyshare_client.Client(self.socket).socket.close()
                return time.monotonic() - begun
            except OSError:
                need(self.server.poll() is None, "the provider ended at its start")
                need(time.monotonic() - begun < 30, "the provider does not answer")
                time.sleep(0.002)

    def stop(self):
        if self.server:
            self.server.send_signal(signal.SIGTERM)
            status = self.server.wait(30)
            self.server = None
            return status
        return 0

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.server.pid}/fd"))

    def need_alive(self):
        need(self.server.poll() is None, f"the provider died: {self.server.returncode}")

    def need_descriptors(self, count):
        """Waits until the provider has no more descriptors than before."""
        for _ in range(500):
            if self.descriptors() <= count:
                return
            time.sleep(0.01)
        raise Missed(f"{self.descriptors() - count} descriptors leaked")

    def client(self):
        return keyshare_client.Client(self.socket)

    def raw(self):
        peer = socket.socket(socket.AF_UNIX)
        peer.settimeout(20)
        peer.connect(self.socket)
        return peer


def files_of(folder, device, count):
    """PKCS #12 files of so many identities, made on a device of their own, and their password's file."""
    with Device() as source:
        source.provision(persons=count)
        source.serve()
        client = source.client()
        paths = []
        for label in source.labels()[:count]:
            content, password = client.fetch(label)
            paths.append(os.path.join(folder, f"{label}.p12"))
            keyshare_client.write(paths[-1], content)
        keyshare_client.write(os.path.join(folder, "password"), password)
    return paths, os.path.join(folder, "password")


def label_of(path):
    return os.path.basename(path)[:-4]


def percentile(values, part):
    values = sorted(values)
    return values[min(int(len(values) * part), len(values) - 1)]


def swift_tests(pattern, **extra):
    """Runs tests of the suite by name, in an environment with more in it; they must be built."""
    run = subprocess.run(
        ["swift", "test", "--skip-build", "--filter", pattern], cwd=ROOT, capture_output=True, text=True,
        env={**os.environ, **extra})
    line = next((line for line in run.stdout.splitlines()[::-1] if "Test run with" in line), "")
    need(run.returncode == 0, "failed: swift test --filter " + pattern)
    need("with 0 tests" not in line, f"no test matches {pattern}")
    return line.split("Test run with ")[-1].split(" passed")[0]
