"""Hostile peers on the provider's socket."""
import os
import random
import resource
import shutil
import struct
import subprocess
import sys
import time

from toolbox import build, client
from toolbox.client import frame
from toolbox.device import Device
from toolbox.report import Skip, need, percentile

NOBODY = 65534
HELLO = frame(client.HELLO, 1, client.hello("peer"))

# A process of another user: it connects, sends a hello, and counts the bytes that it receives.
OTHER_USER = """
import socket, sys
refused = received = 0
for _ in range(int(sys.argv[2])):
    peer = socket.socket(socket.AF_UNIX)
    peer.settimeout(5)
    try:
        peer.connect(sys.argv[1])
        peer.sendall(bytes.fromhex(sys.argv[3]))
        data = peer.recv(65536)
        received += len(data)
        refused += not data
    except OSError:
        refused += 1
print(refused, received)
"""


def other_user(full):
    """Peers of another user, also inside a user namespace, who may open the socket's file."""
    if os.geteuid() != 0:
        raise Skip("only root can be another user")
    rounds = 100
    results = []
    with Device() as device:
        device.provision()
        device.serve()
        # The folders are opened on purpose, so that only the kernel's report of the peer's user protects the socket.
        os.chmod(device.scratch, 0o755)
        os.chmod(device.path, 0o755)
        for mode in (0o600, 0o644, 0o666):
            os.chmod(device.socket, mode)
            for name, prefix in (("", []), (" in a user namespace", ["unshare", "-r"])):
                if prefix and not shutil.which("unshare"):
                    continue
                drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]
                run = subprocess.run(
                    [*drop, *prefix, "/usr/bin/python3", "-c", OTHER_USER, device.socket, str(rounds),
                     HELLO.hex()], capture_output=True, text=True)
                if prefix and run.returncode:
                    continue
                need(run.returncode == 0, f"the process of the other user failed: {run.stderr.strip()}")
                refused, received = map(int, run.stdout.split())
                need((refused, received) == (rounds, 0),
                     f"mode {mode:o}{name}: {refused}/{rounds} refused, {received} bytes")
                results.append(f"{mode:o}{'n' if prefix else ''}")
        device.client().fetch(device.labels()[0])
    return f"refused {rounds}/{rounds}, 0 bytes, for {' '.join(results)} (n: user namespace)"


# A process that keeps connections open, with or without a hello, and prints the time until all connections without a
# hello were closed.
HOARDER = """
import socket, sys, time
path, kind, count, hello = sys.argv[1], sys.argv[2], int(sys.argv[3]), bytes.fromhex(sys.argv[4])
peers = []
for _ in range(count):
    peer = socket.socket(socket.AF_UNIX)
    peer.settimeout(5)
    try:
        peer.connect(path)
        if kind == "idle":
            peer.sendall(hello)
            peer.recv(4096)
        elif kind == "half":
            peer.sendall(hello[:6])
    except OSError:
        break
    peers.append((peer, time.monotonic()))
print("ready", len(peers), flush=True)
if kind == "half":
    longest = 0
    for peer, begun in peers:
        peer.settimeout(10)
        try:
            while peer.recv(4096):
                pass
        except ConnectionError:
            pass
        longest = max(longest, time.monotonic() - begun)
    print("closed", longest, flush=True)
sys.stdin.read()
"""


def hoard(device, kind, count):
    """Starts a hoarder of "half", "idle" or "silent" connections; returns its process and the number of connections."""
    hoarder = subprocess.Popen(
        [sys.executable, "-c", HOARDER, device.socket, kind, str(count), HELLO.hex()],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    word, held = hoarder.stdout.readline().split()
    return hoarder, int(held)


def let_go(*hoarders):
    """Ends hoarders by closing their input."""
    for hoarder in hoarders:
        hoarder.stdin.close()
        hoarder.wait(30)


def honest(device, label, count):
    """The seconds of so many fetches by a well-behaved consumer, each over its own connection."""
    times = []
    for _ in range(count):
        begun = time.perf_counter()
        connection = device.client()
        connection.fetch(label)
        connection.close()
        times.append(time.perf_counter() - begun)
    return times


def crowd(full):
    """A well-behaved consumer next to peers that keep connections open."""
    build.need_release()
    peers = 1000
    with Device() as device:
        device.provision()
        device.serve()
        label = device.labels()[0]
        before = device.descriptors()
        honest(device, label, 200)
        # The two measurements alternate, because the machine's speed varies.
        alone, loaded, longest = [], [], 0.0
        for _ in range(3 if full else 2):
            alone += honest(device, label, 400)
            half, silent = hoard(device, "half", peers)
            idle, greeted = hoard(device, "idle", peers)
            need(silent + greeted == 2 * peers, f"only {silent} and {greeted} peers got in")
            loaded += honest(device, label, 400)
            longest = max(longest, float(half.stdout.readline().split()[1]))
            let_go(half, idle)
            device.need_descriptors(before + 1)
        device.need_alive()
    p50, p99 = (percentile(loaded, part) / percentile(alone, part) for part in (0.5, 0.99))
    figure = f"p50 {p50:.2f} x, p99 {p99:.2f} x, half-open closed in {longest:.2f} s"
    need(p50 <= 1.25 and p99 <= 2 and longest <= 2.5, figure)
    return figure


# A process that requests content endlessly, sixteen requests ahead of the replies.
GREEDY = """
import select, socket, sys
path, item, count, hello = sys.argv[1], bytes.fromhex(sys.argv[2]), int(sys.argv[3]), bytes.fromhex(sys.argv[4])
start, read = bytes.fromhex(sys.argv[5]), bytes.fromhex(sys.argv[6])
peers = []
for _ in range(count):
    peer = socket.socket(socket.AF_UNIX)
    peer.connect(path)
    for message in (hello, start):
        peer.sendall(message)
        peer.recv(4096)
    peer.sendall(read * 16)
    peers.append(peer)
# The first answers wait until the archive is exported.
select.select(peers, [], [])
print("ready", flush=True)
owed = dict.fromkeys(peers, 0)
length = int(sys.argv[7])
while True:
    for peer in select.select([*peers, sys.stdin], [], [])[0]:
        if peer is sys.stdin:
            sys.exit()
        owed[peer] += len(peer.recv(1 << 20))
        while owed[peer] >= length:
            owed[peer] -= length
            peer.sendall(read)
"""


def fair(full):
    """A well-behaved consumer next to peers that request content without end."""
    build.need_release()
    greedy = 8
    with Device() as device:
        device.provision(persons=100)
        device.serve()
        label = device.labels()[0]
        archive = "Unfiltered.zip"
        name = client.text(archive)
        # A chunk: the frame's head (9 bytes), the total size (8) and the bytes.
        arguments = [
            device.socket, name.hex(), str(greedy), HELLO.hex(), frame(client.START_ACCESSING, 2, name).hex(),
            frame(client.READ, 3, client.read_body(archive, 0)).hex(), str(9 + 8 + client.CHUNK)]
        honest(device, label, 100)
        alone, beside = [], []
        for _ in range(3):
            alone += honest(device, label, 200)
            peer = subprocess.Popen(
                [sys.executable, "-c", GREEDY, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            need(peer.stdout.readline().strip() == "ready", "the greedy peers got nothing")
            beside += honest(device, label, 200)
            peer.stdin.close()
            need(peer.wait(30) == 0, "the greedy peers failed")
        device.need_alive()
    p50, p99 = percentile(beside, 0.5) / percentile(alone, 0.5), percentile(beside, 0.99)
    # Nine consumers share the provider, and five of a fetch's seven requests wait for the replies to the others.
    figure = f"p50 {p50:.1f} x, p99 {p99 * 1e3:.1f} ms"
    need(p50 <= 2 * (greedy + 1), figure)
    return figure


def starved(full):
    """A well-behaved consumer of a provider whose descriptors other connections have exhausted."""
    if not shutil.which("prlimit"):
        raise Skip("prlimit is not installed")
    slowest = 0.0
    with Device() as device:
        device.provision()
        device.serve("--quiet", prefix=["prlimit", "--nofile=160:160"])
        label = device.labels()[0]
        for kind in ("silent", "idle"):
            hoarder, held = hoard(device, kind, 400)
            for _ in range(5):
                begun = time.monotonic()
                device.client().fetch(label)
                slowest = max(slowest, time.monotonic() - begun)
            let_go(hoarder)
        device.need_alive()
    figure = f"honest fetch within {slowest:.3f} s"
    need(slowest <= 3, figure)
    return figure


def exhausted(full):
    """A running provider whose limit of descriptors falls, and rises again."""
    with Device() as device:
        device.provision(persons=20)
        device.serve("--quiet")
        labels = device.labels()
        connection = device.client()
        connection.fetch(labels[0])
        limits = resource.prlimit(device.server.pid, resource.RLIMIT_NOFILE)
        failures = served = 0
        for room in range(0, 4):
            resource.prlimit(device.server.pid, resource.RLIMIT_NOFILE, (device.descriptors() + room, limits[1]))
            for label in labels[1:6]:
                try:
                    connection.fetch(label)
                    served += 1
                except client.Failure:
                    failures += 1
        resource.prlimit(device.server.pid, resource.RLIMIT_NOFILE, limits)
        device.need_alive()
        connection.fetch(labels[-1])
        device.client().fetch(labels[-2])
    return f"{served} served, {failures} typed failures, works again"


def broken_frames(full):
    """Streams that are cut, random, slow, or never read."""
    rng = random.Random(7)
    rounds = 400 if full else 100
    with Device() as device:
        device.provision(persons=3, types="signature,encryption")
        device.serve("--quiet")
        label = device.labels()[0]
        before = device.descriptors()

        def drained(peer, data, half_close=True):
            try:
                peer.sendall(data)
                if half_close:
                    peer.shutdown(1)
                while peer.recv(65536):
                    pass
            except (BrokenPipeError, ConnectionResetError):
                pass
            peer.close()

        for length in (0, 4, 4093, 65536, 1 << 24, 1 << 31, (1 << 32) - 1):
            drained(device.raw(), struct.pack(">I", length) + b"x" * 64, half_close=False)
            drained(device.raw(), HELLO + struct.pack(">I", length) + b"x" * 64, half_close=False)
        for _ in range(rounds):
            drained(device.raw(), rng.randbytes(rng.randrange(1, 5000)))
            body = rng.randbytes(rng.randrange(0, 200))
            drained(device.raw(), HELLO + frame(rng.randrange(256), 9, body))
            drained(device.raw(), HELLO[:rng.randrange(len(HELLO))])
        # A hello is accepted even if it arrives one byte at a time.
        peer = device.raw()
        for byte in HELLO:
            peer.sendall(bytes([byte]))
        need(peer.recv(4096)[4] == client.HELLO | client.IS_REPLY, "no welcome for a hello that came byte by byte")
        peer.close()
        # A thousand requests in one write, and a peer that reads none of the answers.
        item = frame(client.ITEM, 2, client.text(label))
        drained(device.raw(), HELLO + item * 1000)
        deaf = [device.raw() for _ in range(20)]
        page = frame(client.ENUMERATE, 3, client.enumerate_body("root"))
        for peer in deaf:
            peer.sendall(HELLO)
            peer.setblocking(False)
            try:
                while True:
                    peer.send(page)
            except OSError:  # The socket's buffer is full.
                pass
        device.client().fetch(label)
        for peer in deaf:
            peer.close()
        device.need_alive()
        device.need_descriptors(before)
        device.client().fetch(label)
        need(device.stop() == 0, "the provider did not stop cleanly")
    return f"{3 * rounds + 14} broken streams, 0 crashes, 0 descriptors leaked"
