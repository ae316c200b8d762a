"""Servers that handle the same load in turns: the provider's password, ssh-agent with four keys, and an echo in C.

They take turns in one run because the machine's speed varies; the best round of each counts."""
import contextlib
import os
import shutil
import struct
import subprocess
import tempfile
import time

from toolbox import build, client, process
from toolbox.device import Device

OURS, ECHO, AGENT = "ours", "echo in C", "ssh-agent, 4 keys"
ROUNDS = 3


def wait_for(path):
    """Waits until a file exists."""
    while not os.path.exists(path):
        time.sleep(0.01)


def start_agent(scratch):
    """Starts an ssh-agent with four keys; returns its process and the path of its socket."""
    path = os.path.join(scratch, "agent")
    agent = subprocess.Popen(
        ["ssh-agent", "-D", "-a", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(path)
    for number in range(4):
        key = os.path.join(scratch, f"key{number}")
        process.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
        process.run("ssh-add", "-q", key, environment={"SSH_AUTH_SOCK": path})
    return agent, path


class Race:
    """A provider and the reference servers, with the request frames for each of them."""

    def __init__(self, device, scratch, echoes=()):
        """`echoes` are names and commands of more servers, which receive the socket's path as their last argument
        and echo their input."""
        self.program = build.compile_c(
            build.PACKAGE / "Benchmarks/connection-load.c", os.path.join(scratch, "load"))
        label = device.labels()[0]
        frames = [
            client.frame(client.FETCH_PASSWORD, 1, client.password_body(label)),
            client.frame(client.HELLO, 1, client.hello("load", [client.SERVICE])),
            client.frame(client.START_ACCESSING, 1, client.text(label))]
        self.started = []
        self.servers = {OURS: (device.server, device.socket, [frame.hex() for frame in frames])}
        # As long as the request for a password.
        echoed = [(struct.pack(">I", 41) + b"x" * 41).hex()]
        for name, command in ((ECHO, [self.program, "--echo"]), *echoes):
            path = os.path.join(scratch, name.replace(" ", "-"))
            self.add(name, subprocess.Popen([*command, path]), path, echoed)
        if shutil.which("ssh-agent"):
            # SSH_AGENTC_REQUEST_IDENTITIES.
            self.add(AGENT, *start_agent(scratch), ["000000010b"])

    def add(self, name, server, path, frames):
        """Adds a server to the race after its socket exists."""
        self.started.append(server)
        wait_for(path)
        self.servers[name] = (server, path, frames)

    def stop(self):
        """Stops every server except the provider."""
        for server in self.started:
            server.terminate()
            server.wait()

    def run(self, server_cores, client_cores, connections, requests=50_000):
        """For each server the median response time in microseconds, and the responses per second."""
        best = {}
        for _ in range(ROUNDS):
            for name, (server, path, frames) in self.servers.items():
                for thread in os.listdir(f"/proc/{server.pid}/task"):
                    os.sched_setaffinity(int(thread), server_cores)
                run = process.run(
                    "taskset", "-c", ",".join(map(str, client_cores)), self.program, path, connections,
                    requests, *frames)
                median, _, rate = map(float, run.stdout.split())
                old = best.get(name, (1e9, 0))
                best[name] = (min(median, old[0]), max(rate, old[1]))
        return best


@contextlib.contextmanager
def race(commands=None, echoes=()):
    """A race with a provider of one identity; `commands` is the folder of its command."""
    with tempfile.TemporaryDirectory(prefix="ks-", dir="/tmp") as scratch, Device(commands=commands) as device:
        device.provision()
        device.serve("--quiet")
        running = Race(device, scratch, echoes)
        try:
            yield running
        finally:
            running.stop()
