"""A simulated device in a scratch folder, with a running provider."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from toolbox import build, client
from toolbox.report import Missed, need


class Device:
    """A simulated device in a scratch folder, and the commands on it.

    At the end of a `with` statement, the provider is stopped and the scratch folder is removed.
    """

    def __init__(self, folder=None, commands=None):
        """`folder` is the scratch folder (default: a new one), `commands` the folder of the commands (default:
        `build.commands()`)."""
        # A socket's path must be short, wherever TMPDIR points.
        self.scratch = str(folder or tempfile.mkdtemp(prefix="ks-", dir="/tmp"))
        self.commands = str(commands or build.commands())
        self.path = os.path.join(self.scratch, "device")
        self.socket = os.path.join(self.path, "provider.sock")
        self.server = None
        self.log = os.path.join(self.scratch, "log")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.scratch, ignore_errors=True)

    # Commands.

    def command(self, name):
        """The path of a command."""
        return os.path.join(self.commands, name)

    def environment(self, **extra):
        """The complete environment of a command: the search path, a home in the scratch folder, and the device."""
        return {"PATH": os.environ["PATH"], "HOME": self.scratch, "KEYSHARE_DEVICE": self.path, **extra}

    def start(self, name, *arguments, output=subprocess.DEVNULL, **extra):
        """Starts a command with `extra` variables and returns its process."""
        return subprocess.Popen(
            [self.command(name), *arguments], env=self.environment(**extra), stdin=subprocess.DEVNULL,
            stdout=output, stderr=output)

    def run(self, name, *arguments, input="", timeout=120, **extra):
        """Runs a command until it ends with `extra` variables; returns its `CompletedProcess`, with text."""
        return subprocess.run(
            [self.command(name), *map(str, arguments)], env=self.environment(**extra), timeout=timeout,
            input=input, capture_output=True, text=True)

    def provider(self, *arguments, **extra):
        """Runs keyshare-provider and returns its output. Raises `Missed` if its exit status is not
        0."""
        run = self.run("keyshare-provider", *arguments, **extra)
        need(run.returncode == 0, f"{arguments[0]} ended with {run.returncode}: {run.stderr.strip()}")
        return run.stdout

    def provision(self, persons=1, types="signature", key="p256"):
        """Generates identities of these types for each of the persons."""
        self.provider(
            "provision", "--key", key, "--generations", "1", "--count", str(persons), "--types", types,
            timeout=3600)

    def labels(self):
        """The identifiers of the provider's PKCS #12 files."""
        items = json.loads(self.provider("list", "--json"))["items"]
        return [item["identifier"] for item in items if item["kind"] == "pkcs12"]

    # The running provider.

    def serve(self, *arguments, prefix=(), log=None, **extra):
        """Starts the provider's service, with the words of `prefix` before the command and with `extra` variables; returns
        the seconds until it answers. Its output goes to the descriptor `log`, or else to the file `self.log`."""
        begun = time.monotonic()
        with open(self.log, "ab") as file:
            self.server = subprocess.Popen(
                [*prefix, self.command("keyshare-provider"), "serve", *arguments],
                env=self.environment(**extra), stdin=subprocess.DEVNULL, stdout=log or file, stderr=log or file)
        while True:
            try:
                self.client().close()
                return time.monotonic() - begun
            except OSError:
                need(self.server.poll() is None, "the provider ended at its start")
                need(time.monotonic() - begun < 30, "the provider does not answer")
                time.sleep(0.002)

    def said(self, pattern):
        """Waits until the regular expression matches the provider's output; returns the match."""
        begun = time.monotonic()
        while True:
            with open(self.log) as log:
                if match := re.search(pattern, log.read()):
                    return match
            self.need_alive()
            need(time.monotonic() - begun < 30, f"the provider does not print {pattern}")
            time.sleep(0.01)

    def stop(self):
        """Stops the provider and returns its exit status; 0 if no provider runs."""
        if self.server:
            self.server.send_signal(signal.SIGTERM)
            status = self.server.wait(30)
            self.server = None
            return status
        return 0

    def client(self):
        """A greeted connection of the second client."""
        return client.Client(self.socket)

    def raw(self):
        """A connected socket that has sent nothing yet."""
        peer = socket.socket(socket.AF_UNIX)
        peer.settimeout(20)
        peer.connect(self.socket)
        return peer

    def memory(self):
        """The provider's resident memory in bytes."""
        return resident_memory(self.server)

    def peak_memory(self):
        """The provider's peak resident memory in bytes."""
        return resident_memory(self.server, "VmHWM")

    def processor_time(self):
        """The seconds of a core that the provider has used."""
        with open(f"/proc/{self.server.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        # utime and stime (proc(5)).
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def descriptors(self):
        """How many file descriptors the provider has open."""
        return len(os.listdir(f"/proc/{self.server.pid}/fd"))

    def need_alive(self):
        """Raises `Missed` if the provider has ended."""
        need(self.server.poll() is None, f"the provider died: {self.server.returncode}")

    def need_descriptors(self, count):
        """Waits until the provider has at most so many descriptors. Raises `Missed` after five seconds."""
        for _ in range(500):
            if self.descriptors() <= count:
                return
            time.sleep(0.01)
        raise Missed(f"{self.descriptors() - count} descriptors leaked")


def resident_memory(process, field="VmRSS"):
    """A process's resident memory in bytes; its peak with the field VmHWM."""
    with open(f"/proc/{process.pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(field)) << 10


def pkcs12_files(folder, count):
    """Writes PKCS #12 files of so many identities, made on a device of their own; returns their paths and the path
    of their password's file. A file is named after the identity's label."""
    with Device() as source:
        source.provision(persons=count)
        source.serve()
        connection = source.client()
        paths = []
        for label in source.labels()[:count]:
            content, password = connection.fetch(label)
            paths.append(os.path.join(folder, f"{label}.p12"))
            client.write(paths[-1], content)
        client.write(os.path.join(folder, "password"), password)
    return paths, os.path.join(folder, "password")


def label_of(path):
    """The label of the identity in a file of `pkcs12_files`."""
    return os.path.basename(path)[:-4]
