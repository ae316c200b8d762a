"""Peers that request long-running work and disconnect, and a provider that must stop under that load."""
import os
import signal
import subprocess
import sys
import time

from toolbox import client
from toolbox.client import frame
from toolbox.device import Device
from toolbox.report import need, percentile

HELLO = frame(client.HELLO, 1, client.hello("peer"))
ARCHIVE = "Unfiltered.zip"
# The types of requests that the second client does not need.
PRESENT, CHOOSE = 9, 10
LEGACY_ARCHIVE = ["purebred.zip.all"]
# The requests of an abandoned connection: those that need a reply first, and the request that it sends sixteen times.
KINDS = {
    "choose": (None, frame(CHOOSE, 2, client.text("tmp.zip") + client.texts(LEGACY_ARCHIVE))),
    "content": (ARCHIVE, None),
    "present": (None, frame(PRESENT, 2, client.texts(LEGACY_ARCHIVE) + client.optional_text(None) + b"\0\0")),
    "read": ("", None),
}

# A process that repeatedly connects, requests much data, and disconnects. Prints the number of rounds when its input
# ends.
LEAVER = """
import select, socket, struct, sys
path, first, rest = sys.argv[1], bytes.fromhex(sys.argv[2]), bytes.fromhex(sys.argv[3])
rounds = failures = 0
def exactly(peer, count):
    data = b""
    while len(data) < count:
        part = peer.recv(count - len(data))
        if not part: raise OSError("closed")
        data += part
    return data
while not select.select([sys.stdin], [], [], 0)[0]:
    peer = socket.socket(socket.AF_UNIX)
    try:
        peer.connect(path)
        peer.sendall(first)
        if sys.argv[4] == "1":
            # The welcome and the grant come before the reads.
            for _ in range(2): exactly(peer, struct.unpack(">I", exactly(peer, 4))[0])
        peer.sendall(rest)
        rounds += 1
    except OSError:
        failures += 1
    peer.close()
print(rounds, failures)
"""

# A process that sends many requests over many connections, and stays connected.
STAYER = """
import socket, sys
path, count, message = sys.argv[1], int(sys.argv[2]), bytes.fromhex(sys.argv[3])
peers = []
for _ in range(count):
    peer = socket.socket(socket.AF_UNIX)
    peer.connect(path)
    peer.sendall(message)
    peers.append(peer)
print("ready", flush=True)
sys.stdin.read()
"""

# A process that connects repeatedly and keeps the last fifty connections open. Prints the number of connections when
# its input ends.
LINGERER = """
import collections, select, socket, sys
path, first = sys.argv[1], bytes.fromhex(sys.argv[2])
rounds, peers = 0, collections.deque()
while not select.select([sys.stdin], [], [], 0)[0]:
    peer = socket.socket(socket.AF_UNIX)
    try:
        peer.connect(path)
        peer.sendall(first)
        rounds += 1
    except OSError:
        pass
    peers.append(peer)
    if len(peers) > 50: peers.popleft().close()
print(rounds)
"""

# A process of many connections that request one archive simultaneously, and read its first chunk.
SHARERS = """
import socket, struct, sys
path, count = sys.argv[1], int(sys.argv[2])
hello, start, read = (bytes.fromhex(argument) for argument in sys.argv[3:6])
def exactly(peer, count):
    data = b""
    while len(data) < count:
        part = peer.recv(count - len(data))
        if not part: sys.exit("closed")
        data += part
    return data
def reply(peer):
    return exactly(peer, struct.unpack(">I", exactly(peer, 4))[0])
peers = []
for _ in range(count):
    peer = socket.socket(socket.AF_UNIX)
    peer.connect(path)
    peer.sendall(hello)
    reply(peer)
    peer.sendall(start)
    reply(peer)
    peers.append(peer)
for peer in peers:
    peer.sendall(read)
for peer in peers:
    if reply(peer)[0] != 0x86: sys.exit("no chunk")
"""


def start(program, *arguments):
    """Starts one of the programs above, with its input and output to us."""
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True)


def leaving(kind, label):
    """The bytes that a peer of a kind of `KINDS` sends before it disconnects: the first part, whether two replies come
    before the rest, and the rest."""
    item, request = KINDS[kind]
    if item is None:
        return HELLO, False, request * 16
    item = item or label
    read = frame(client.READ, 3, client.read_body(item, 0))
    return HELLO + frame(client.START_ACCESSING, 2, client.text(item)), True, read * 16


def start_leaver(device, kind, label):
    """Starts a process that disconnects early, of a kind of `KINDS`."""
    first, waits, rest = leaving(kind, label)
    return start(LEAVER, device.socket, first.hex(), rest.hex(), int(waits))


def fetches(device, label, seconds):
    """The seconds of each fetch by a well-behaved consumer, one after the other, for the given number of seconds."""
    times, end = [], time.perf_counter() + seconds
    while (begun := time.perf_counter()) < end:
        connection = device.client()
        connection.fetch(label)
        connection.close()
        times.append(time.perf_counter() - begun)
    return times


def pin(device, core):
    """Lets the provider run on one core."""
    for thread in os.listdir(f"/proc/{device.server.pid}/task"):
        os.sched_setaffinity(int(thread), {core})


def leavers(full):
    """A well-behaved consumer next to four processes that send many requests and disconnect, with the provider on one core."""
    figures = []
    with Device() as device:
        device.provision(persons=100 if full else 25)
        device.serve("--quiet")
        label = device.labels()[0]
        pin(device, 0)
        device.client().fetch(label)
        alone = fetches(device, label, 2)
        for kinds in ([kind] * 4 for kind in KINDS) if full else [list(KINDS)]:
            processes = [start_leaver(device, kind, label) for kind in kinds]
            beside = fetches(device, label, 8)
            rounds = 0
            for process in processes:
                process.stdin.close()
                rounds += int(process.stdout.read().split()[0])
                process.wait(30)
            time.sleep(1)
            begun = device.processor_time()
            time.sleep(1)
            idle = device.processor_time() - begun
            p50, p99 = percentile(beside, 0.5) / percentile(alone, 0.5), percentile(beside, 0.99)
            figures.append(
                f"{'/'.join(sorted(set(kinds)))}: {rounds} left, p50 {p50:.1f} x, p99 {p99 * 1e3:.0f} ms, "
                f"then {idle:.2f} s/s")
            need(p50 <= 5 and p99 <= 1 and idle <= 0.1, "; ".join(figures))
        device.need_alive()
        peak = device.peak_memory() >> 20
    figures.append(f"at most {peak} MiB")
    need(peak <= 512, "; ".join(figures))
    return "; ".join(figures)


def lingerers(full):
    """A well-behaved consumer next to four processes that connect and disconnect without end, on all cores."""
    with Device() as device:
        device.provision()
        device.serve("--quiet")
        label = device.labels()[0]
        alone = fetches(device, label, 2)
        processes = [start(LINGERER, device.socket, HELLO.hex()) for _ in range(4)]
        beside = fetches(device, label, 20 if full else 5)
        rounds = 0
        for process in processes:
            process.stdin.close()
            rounds += int(process.stdout.read())
            process.wait(30)
        device.need_alive()
        peak = device.peak_memory() >> 20
    p50, p99 = percentile(beside, 0.5) / percentile(alone, 0.5), percentile(beside, 0.99)
    figure = f"{rounds} connected, p50 {p50:.1f} x, p99 {p99 * 1e3:.0f} ms, at most {peak} MiB"
    need(p99 <= 1 and max(beside) <= 2 and peak <= 512, figure)
    return figure


def backlog(device):
    """Fills the provider's queues from four processes, whose connections stay open."""
    message = HELLO + KINDS["choose"][1] * 16
    processes = [start(STAYER, device.socket, 64, message.hex()) for _ in range(4)]
    for process in processes:
        need(process.stdout.readline().strip() == "ready", "the backlog could not be made")
    return processes


def stop(full):
    """A signal to a provider with a full backlog, whose log is not read; and a second signal."""
    figures = []
    with Device() as device:
        device.provision(persons=100)
        for signals in (1, 2):
            # This pipe holds 64 KiB and is never read.
            unread, log = os.pipe()
            device.serve("--verbose", log=log)
            os.close(log)
            processes = backlog(device)
            begun = time.monotonic()
            device.server.send_signal(signal.SIGTERM)
            if signals == 2:
                time.sleep(0.2)
                device.server.send_signal(signal.SIGTERM)
            device.server.wait(30)
            took = time.monotonic() - begun
            figures.append(f"{signals} signal{'s' * (signals > 1)}: ended in {took:.1f} s")
            need(took <= (6 if signals == 1 else 1.2), "; ".join(figures))
            device.server = None
            os.close(unread)
            for process in processes:
                process.stdin.close()
                process.wait(30)
    return "; ".join(figures)


def shared(full):
    """Many peers that request one archive at the same time, and the processor time of a single peer."""
    costs = []
    with Device() as device:
        device.provision(persons=300 if full else 100)
        name = client.text(ARCHIVE)
        messages = [
            HELLO.hex(), frame(client.START_ACCESSING, 2, name).hex(),
            frame(client.READ, 3, client.read_body(ARCHIVE, 0)).hex()]
        for count in (1, 1000):
            # A provider that has just started keeps nothing in memory.
            device.serve("--quiet")
            device.client().page()
            # The second time, the archive is in memory, so only the cost of the connections remains.
            rounds = []
            for _ in range(2):
                begun = device.processor_time()
                process = start(SHARERS, device.socket, count, *messages)
                need(process.wait(120) == 0, f"{count} peers did not get their archive")
                rounds.append(device.processor_time() - begun)
            costs.append(rounds[0] - rounds[1])
            device.stop()
    ratio = costs[1] / costs[0]
    figure = (
        f"1 peer {costs[0]:.2f} s of a core, 1,000 peers {costs[1]:.2f} s, {ratio:.2f} x, "
        f"without the connections' {rounds[1]:.2f} s")
    need(ratio <= 1.5, figure)
    return figure
