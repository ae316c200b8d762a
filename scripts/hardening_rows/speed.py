"""The latency and rate of passwords through the socket."""
import os
import shutil

from toolbox import build
from toolbox.race import AGENT, ECHO, OURS, race
from toolbox.report import Skip, need


def need_tools():
    """Raises `Skip` if times cannot be judged."""
    build.need_release()
    if not shutil.which("taskset"):
        raise Skip("taskset is not installed")


def latency(full):
    """The median of one connection that shares a core with the provider."""
    need_tools()
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
    """Passwords per second over 32 connections, on a core shared with the provider and on a separate one."""
    need_tools()
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
