"""The keychain under kill, power cut, failing calls and many writers."""
import mmap
import os
import pathlib
import random
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import tempfile
import threading
import time

from toolbox import build, client
from toolbox.device import Device, label_of, pkcs12_files
from toolbox.report import Missed, Skip, need

# The exit codes that a command may end with (docs: exit codes); any other is a crash.
SOUND_CODES = {0, 3, 4, 5, 6, 7, 8, 9, 10, 64, 73, 74}


def start_import(device, path, password, **extra):
    """Starts the import of a file into the provider's keychain, with `extra` variables; returns its process."""
    return device.start("keyshare-provider", "import", path, "--password-file", password, **extra)


def killed(full):
    """Imports one identity after the other, each killed at a random moment or allowed to finish."""
    rounds = 200 if full else 40
    rng = random.Random()
    with Device() as device:
        paths, password = pkcs12_files(device.scratch, 100)
        usual = 60.0
        for _ in range(5):
            begun = time.monotonic()
            need(start_import(device, paths[0], password).wait() == 0, "an import failed")
            usual = min(usual, time.monotonic() - begun)
        acknowledged, kills, slowest = {label_of(paths[0])}, 0, 0.0
        for number in range(rounds):
            path = paths[1 + number % (len(paths) - 1)]
            writer = start_import(device, path, password)
            try:
                status = writer.wait(rng.uniform(usual * 0.1, usual * 2))
            except subprocess.TimeoutExpired:
                writer.kill()
                status = writer.wait()
            kills += status == -9
            need(status in (0, -9), f"an import ended with {status}")
            if status == 0:
                acknowledged.add(label_of(path))
            if number % 10 == 9:
                slowest = max(slowest, device.serve("--quiet"))
                device.server.kill()
                device.server.wait()
                device.server = None
        lost = acknowledged - set(device.labels())
        device.provider("check")
    figure = (
        f"{kills} kills in {rounds} writes, {len(lost)} of {len(acknowledged)} acknowledged lost, "
        f"restart {slowest:.2f} s")
    need(not lost and kills >= rounds // 5 and slowest <= 1, figure)
    return figure


class Image:
    """An ext4 file system in an image file, mounted by a loop device."""

    def __init__(self, folder, name, image=None):
        self.image = image or os.path.join(folder, name + ".image")
        self.folder = os.path.join(folder, name)
        os.makedirs(self.folder, exist_ok=True)
        if not image:
            with open(self.image, "wb") as file:
                file.truncate(64 << 20)
            subprocess.run(["mkfs.ext4", "-q", "-F", self.image], check=True, capture_output=True)
        # The journal is written every 300 s at most, which is longer than any round.
        mounted = subprocess.run(
            ["mount", "-o", "loop,commit=300", self.image, self.folder], capture_output=True, text=True)
        if mounted.returncode:
            raise Skip(f"cannot mount a loop device: {mounted.stderr.strip()}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.folder], capture_output=True)


def power_cut(full):
    """A power cut during imports.

    The image file is the disk; data that the kernel has not yet written to it is lost. The cut stops the
    writing process and copies the file, and the copy is mounted."""
    if os.geteuid() != 0:
        raise Skip("only root can mount a loop image")
    for tool in ("mkfs.ext4", "mount"):
        if not shutil.which(tool):
            raise Skip(f"{tool} is not installed")
    rounds = 50 if full else 5
    with tempfile.TemporaryDirectory(prefix="ks-", dir="/tmp") as scratch:
        shim = build_shim(scratch)
        with Device(os.path.join(scratch, "files")) as source:
            os.makedirs(source.scratch)
            paths, password = pkcs12_files(source.scratch, 40)
            lost = {"real": 0, "control": 0}
            for kind in lost:
                for number in range(rounds):
                    lost[kind] += cut_once(scratch, paths, password, shim if kind == "control" else None)
    enough = rounds * 9 // 10
    figure = f"lost in {lost['real']} of {rounds} rounds; the control without fsync in {lost['control']}"
    need(lost["real"] == 0 and lost["control"] >= enough, figure)
    return figure


def cut_once(scratch, paths, password, shim):
    """Whether an acknowledged write was lost, or the keychain is damaged."""
    rng = random.Random()
    acknowledged = []
    with tempfile.TemporaryDirectory(prefix="cut-", dir=scratch) as folder:
        with Image(folder, "disk") as disk:
            device = Device(disk.folder)
            device.provider("list")  # Creates the device on disk before the load begins.
            subprocess.run(["sync", "-f", disk.folder], check=True)
            extra = {}
            if shim:
                extra = {"LD_PRELOAD": shim, "FAULT_FOLDER": device.path, "FAULT_NOSYNC": "1"}
            running, starting, ended = [], threading.Lock(), threading.Event()

            def load():
                for path in paths:
                    with starting:
                        if ended.is_set():
                            return
                        running[:] = [start_import(device, path, password, **extra)]
                    if running[0].wait() != 0:
                        return
                    acknowledged.append(label_of(path))

            writer = threading.Thread(target=load)
            writer.start()
            # A cut before the first write is acknowledged could lose nothing.
            while not acknowledged and writer.is_alive():
                time.sleep(0.005)
            time.sleep(rng.uniform(0, 0.6))
            # The copy takes time; a file system that changes during the copy would be copied in an inconsistent state.
            with starting:
                ended.set()
                freeze(running[0])
                # Acknowledged before the disk's state is taken.
                before = list(acknowledged)
                copy = os.path.join(folder, "copy.image")
                shutil.copyfile(disk.image, copy)
                running[0].kill()
            writer.join()
        with Image(folder, "after", copy) as after:
            survivor = Device(after.folder)
            listed = survivor.run("keyshare-provider", "list", "--json")
            checked = survivor.run("keyshare-provider", "check")
            need(listed.returncode in SOUND_CODES and checked.returncode in SOUND_CODES, "a crash after the cut")
            found = set(re.findall(r"\"([0-9A-F]{64})\"", listed.stdout))
    if not before:
        return 0
    return int(listed.returncode != 0 or checked.returncode != 0 or not set(before) <= found)


def freeze(process):
    """Stops a process and waits until the kernel has stopped it: a system call in progress is completed first."""
    process.send_signal(signal.SIGSTOP)
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] in "TtZ":
                    return
        except (FileNotFoundError, ProcessLookupError):  # The process ended by itself in between.
            return
        time.sleep(0.001)


def build_shim(folder):
    """Compiles faults.c into the folder and returns the path of the library. Raises `Skip`."""
    return build.compile_c(
        pathlib.Path(__file__).with_name("faults.c"), os.path.join(folder, "faults.so"), "-shared", "-fPIC",
        "-ldl")


class Faults:
    """The memory shared with faults.c: the call that fails, and the number of calls so far."""
    KINDS = ["EIO", "ENOSPC", "EMFILE", "short"]

    def __init__(self, device):
        self.path = os.path.join(device.scratch, "control")
        with open(self.path, "wb") as file:
            file.write(bytes(24))
        with open(self.path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 24)
        self.environment = {
            "LD_PRELOAD": build_shim(device.scratch), "FAULT_FOLDER": device.path, "FAULT_CONTROL": self.path}

    def arm(self, kind, call):
        """Makes the call with that number, counted from 1, fail in that way; 0 disables failures."""
        self.memory[:] = struct.pack("=qqq", 0, call, self.KINDS.index(kind))

    def disarm(self):
        """Disables failures; returns the number of calls since `arm`."""
        calls = struct.unpack("=qqq", self.memory[:])[0]
        self.memory[8:16] = bytes(8)
        return calls

    def each(self, full, attempt, prepare=lambda: None):
        """Makes every call fail in turn, in each way, until there are no more calls; returns how many failed.

        `attempt` makes the calls and returns their number. A quick run fails the first three calls and some of
        the rest."""
        tried = 0
        for kind in self.KINDS:
            call = 1
            while True:
                prepare()
                self.arm(kind, call)
                seen = attempt(f"{kind} at call {call}")
                if seen < call:
                    break
                tried += 1
                call += 1 if full or call < 3 else max(1, (seen - call) // 3)
        return tried


def failing_calls(full):
    """Every k-th call on the device's files fails in turn: of a command that imports, of a provider that
    starts, and of one that serves lists, files and passwords from a keychain that changes."""
    with Device() as device:
        faults = Faults(device)
        paths, password = pkcs12_files(device.scratch, 3)
        need(start_import(device, paths[0], password).wait() == 0, "an import failed")
        pristine = os.path.join(device.scratch, "pristine")
        shutil.copytree(device.path, pristine)

        def fresh():
            shutil.rmtree(device.path)
            shutil.copytree(pristine, device.path)

        survived = {"import": 0, "start": 0, "serve": 0}

        def imports(place):
            fresh()
            run = device.run(
                "keyshare-provider", "import", paths[1], "--password-file", password, **faults.environment)
            seen = faults.disarm()
            need(run.returncode in SOUND_CODES, f"{place}: exit {run.returncode}: {run.stderr.strip()}")
            survived["import"] += run.returncode == 0
            labels = set(device.labels())
            need(label_of(paths[0]) in labels, f"{place}: an earlier write was lost")
            need(run.returncode != 0 or label_of(paths[1]) in labels, f"{place}: acknowledged and lost")
            device.provider("check")
            need(start_import(device, paths[2], password).wait() == 0, f"{place}: does not work after")
            return seen

        def starts(place):
            fresh()
            try:
                device.serve("--quiet", **faults.environment)
            except Missed:
                status = device.server.poll()
                need(status in SOUND_CODES and status != 0, f"{place}: the provider ended with {status}")
                device.server = None
            seen = faults.disarm()
            if device.server:
                survived["start"] += 1
                device.client().fetch(label_of(paths[0]))
                need(device.stop() == 0, f"{place}: the provider did not stop cleanly")
            device.provider("check")
            return seen

        tried = {"import": faults.each(full, imports), "start": faults.each(full, starts)}
        fresh()
        faults.arm("EIO", 0)
        device.serve("--quiet", **faults.environment)
        connection = device.client()
        # Incrementing the change count makes the provider read its keychain again instead of its cache.
        database = sqlite3.connect(os.path.join(device.path, "keychain", "keychain.sqlite"), isolation_level=None)

        def change():
            database.execute("UPDATE change SET count = count + 1")

        def serves(place):
            try:
                labels = [item["identifier"] for item in connection.items()]
                need(label_of(paths[0]) in labels, f"{place}: an item is missing from the list")
                connection.fetch(label_of(paths[0]))
                survived["serve"] += 1
            except client.Failure:
                pass
            seen = faults.disarm()
            device.need_alive()
            connection.fetch(label_of(paths[0]))
            return seen

        tried["serve"] = faults.each(full, serves, change)
        database.close()
        need(tried["serve"] > 4, f"the shim sees only {tried['serve']} calls of a provider that serves")
        need(device.stop() == 0, "the provider did not stop cleanly")
        device.provider("check")
    words = ", ".join(f"{tried[name]} of {name} ({survived[name]} survived)" for name in tried)
    return f"failed calls: {words}; else a typed error, and works after each"


def many_writers(full):
    """Eight processes that import for a while; each takes one of the remaining files."""
    seconds, writers = (30, 8) if full else (6, 8)
    with Device() as device:
        paths, password = pkcs12_files(device.scratch, 1200 if full else 300)
        left, lock, failures, written = list(paths), threading.Lock(), [], []
        end = time.monotonic() + seconds

        def write():
            while time.monotonic() < end:
                with lock:
                    if not left:
                        return
                    path = left.pop()
                writer = start_import(device, path, password, output=subprocess.PIPE)
                _, output = writer.communicate()
                with lock:
                    if writer.returncode == 0:
                        written.append(label_of(path))
                    else:
                        failures.append(f"{writer.returncode} {output.decode().strip()}")

        threads = [threading.Thread(target=write) for _ in range(writers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        lost = set(written) - set(device.labels())
        device.provider("check")
    figure = f"{len(written)} writes, {len(failures)} failed, {len(lost)} lost"
    need(not failures and not lost and written, f"{figure} {failures[:1]}")
    return figure


def killed_inside(full):
    """Writers that kill themselves while replacing a file, moving a group, changing a password."""
    rounds = 200 if full else 70
    return f"{rounds} rounds each: " + build.swift_tests("CrashTests", KEYSHARE_CRASH_ROUNDS=str(rounds))


def busy_group(full):
    """Eight processes at the files and the keys of one group for a while."""
    seconds = 30 if full else 5
    return f"{seconds} s: " + build.swift_tests("RaceTests/group", KEYSHARE_RACE_SECONDS=str(seconds))
