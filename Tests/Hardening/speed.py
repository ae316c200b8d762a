"""How quick a password comes through the socket, beside ssh-agent with four keys and an echo in C.

All are measured in turns, because the machine's speed wanders; the best round of each counts."""
import contextlib
import os
import shutil
import struct
import subprocess
import tempfile
import time

from common import BIN, ROOT, Device, Skip, keyshare_client, need

SERVICE = keyshare_client.SERVICE
OURS, ECHO, AGENT = "ours", "echo in C", "ssh-agent, 4 keys"
ROUNDS = 3


def frame(kind, body):
    return (struct.pack(">IBI", len(body) + 5, kind, 1) + body).hex()


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.01)


def start_agent(scratch):
    """ssh-agent with four keys; its process and its socket."""
    path = os.path.join(scratch, "agent")
    agent = subprocess.Popen(
        ["ssh-agent", "-D", "-a", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(path)
    for number in range(4):
        key = os.path.join(scratch, f"key{number}")
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        subprocess.run(["ssh-add", "-q", key], check=True, env={**os.environ, "SSH_AUTH_SOCK": path})
    return agent, path


class Race:
    """Servers that answer the same load in turns."""

    def __init__(self, device, scratch, echoes=()):
        """`echoes`: names and commands of more servers, which get the socket's path as a last argument and send
        back what comes."""
        self.program = os.path.join(scratch, "load")
        source = os.path.join(ROOT, "Benchmarks", "connection-load.c")
        subprocess.run(["cc", "-O2", "-o", self.program, source], check=True)
        label = keyshare_client.text(device.labels()[0])
        service = keyshare_client.text(SERVICE)
        hello = struct.pack(">HH", 1, 1) + keyshare_client.text("load") + keyshare_client.texts([SERVICE])
        self.started = []
        self.servers = {OURS: (device.server, device.socket, [frame(7, service + label), frame(1, hello), frame(5, label)])}
        echoed = [(struct.pack(">I", 41) + b"x" * 41).hex()]
        for name, command in ((ECHO, [self.program, "--echo"]), *echoes):
            path = os.path.join(scratch, name.replace(" ", "-"))
            self.add(name, subprocess.Popen([*command, path]), path, echoed)
        if shutil.which("ssh-agent"):
            self.add(AGENT, *start_agent(scratch), ["000000010b"])

    def add(self, name, process, path, frames):
        self.started.append(process)
        wait_for(path)
        self.servers[name] = (process, path, frames)

    def stop(self):
        for process in self.started:
            process.terminate()
            process.wait()

    def run(self, server_cores, client_cores, connections, requests=50_000):
        """For each server the median in microseconds and the requests a second."""
        best = {}
        for _ in range(ROUNDS):
            for name, (process, path, frames) in self.servers.items():
                for thread in os.listdir(f"/proc/{process.pid}/task"):
                    os.sched_setaffinity(int(thread), server_cores)
                run = subprocess.run(
                    ["taskset", "-c", ",".join(map(str, client_cores)), self.program, path, str(connections),
                     str(requests), *frames], check=True, capture_output=True, text=True)
                p50, _, rate = map(float, run.stdout.split())
                old = best.get(name, (1e9, 0))
                best[name] = (min(p50, old[0]), max(rate, old[1]))
        return best


@contextlib.contextmanager
def race(echoes=()):
    """A race with a provider of one identity."""
    with tempfile.TemporaryDirectory(prefix="ks-", dir="/tmp") as scratch, Device() as device:
        device.provision()
        device.serve("--quiet")
        running = Race(device, scratch, echoes)
        try:
            yield running
        finally:
            running.stop()


def need_release():
    if os.path.basename(os.path.realpath(BIN)) != "release":
        raise Skip("times are judged on a release build: KEYSHARE_BIN=.build/release")
    for tool in ("cc", "taskset"):
        if not shutil.which(tool):
            raise Skip(f"there is no {tool}")


def latency(full):
    need_release()
    core = sorted(os.sched_getaffinity(0))[:1]
    with race() as running:
        best = running.run(core, core, 1)
    ours, agent = best[OURS][0], best.get(AGENT, (None,))[0]
    figure = f"p50 {ours:.1f} us; echo in C {best[ECHO][0]:.1f} us"
    if agent:
        figure += f", ssh-agent {agent:.1f} us: {ours / agent:.2f} x"
    need(ours <= 20 and (not agent or ours <= 1.25 * agent), figure)
    return figure


def rate(full):
    need_release()
    cores = sorted(os.sched_getaffinity(0))
    with race() as running:
        settings = {"one core": (cores[:1], cores[:1])}
        if len(cores) > 1:
            settings["a core each"] = (cores[:1], cores[1:2])
        figures, is_met = [], False
        for name, (server, client) in settings.items():
            best = running.run(server, client, 32)
            ours, agent = best[OURS][1], best.get(AGENT, (0, 0))[1]
            ratio = f", {ours / agent:.2f} x ssh-agent" if agent else ""
            figures.append(f"{ours:,.0f}/s{ratio} ({name})")
            is_met = is_met or (ours >= 100_000 and ours > agent)
    need(is_met, "; ".join(figures))
    return "; ".join(figures)
