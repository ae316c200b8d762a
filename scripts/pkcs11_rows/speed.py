"""Figures of the PKCS #11 module, SoftHSM and libcrypto in the same run."""
import glob
import os
import subprocess

from toolbox import build, install, process
from toolbox.device import Device
from toolbox.report import need

SOFTHSM = "/usr/lib/*/softhsm/libsofthsm2.so"
PIN = "123456"
KINDS = {"rsa": "rsa2048", "ec": "p256"}
ROUNDS = 3


def release_module():
    """The module's release build: in the folder KEYSHARE_BIN if it is set, otherwise built now."""
    if os.environ.get("KEYSHARE_BIN"):
        return os.path.realpath(build.module())
    return build.tool("keyshare-pkcs11").parent / "libkeyshare-pkcs11.so"


class SoftHSM:
    """A token of SoftHSM in a scratch folder, with a key of each kind."""

    def __init__(self, scratch):
        install.tools({"softhsm2-util": "softhsm2", "pkcs11-tool": "opensc"})
        found = glob.glob(SOFTHSM)
        need(found, f"SoftHSM's module is missing: {SOFTHSM}")
        self.module = found[0]
        folder = os.path.join(scratch, "softhsm")
        os.mkdir(folder)
        configuration = os.path.join(scratch, "softhsm.conf")
        with open(configuration, "w", encoding="ascii") as file:
            file.write(f"directories.tokendir = {folder}\nobjectstore.backend = file\n")
        self.environment = {"SOFTHSM2_CONF": configuration}
        process.run("softhsm2-util", "--init-token", "--free", "--label", "bench", "--pin", PIN, "--so-pin", PIN,
                    environment=self.environment)
        for place, kind in enumerate(["rsa:2048", "EC:prime256v1"]):
            process.run("pkcs11-tool", "--module", self.module, "--login", "--pin", PIN, "--keypairgen", "--key-type", kind,
                        "--id", f"0{place + 1}", "--label", kind, environment=self.environment)


def measure(row, scratch, full):
    """Prints the rows. `row` is the function of scripts/bench."""
    load = build.compile_c(
        build.PACKAGE / "Benchmarks/pkcs11-load.c", os.path.join(scratch, "pkcs11-load"),
        f"-I{build.PACKAGE / 'Sources/CPKCS11/include'}", "-pthread", "-ldl")
    reference = build.signing_reference(scratch)
    module = release_module()
    stripped = os.path.join(scratch, "stripped.so")
    process.run("strip", "-o", stripped, module)
    row("PKCS #11 module, stripped, MB", os.path.getsize(stripped) / 1e6, goal=7)
    softhsm = SoftHSM(scratch)
    with Device(commands=build.release_commands()) as device:
        for key in KINDS.values():
            device.provision(key=key)
        device.provider("token", "add", "--all")
        device.serve("--quiet")
        ours = (str(module), device.environment())
        theirs = (softhsm.module, {**os.environ, **softhsm.environment})

        def run(side, *arguments, prefix=()):
            return subprocess.run([*prefix, load, side[0], *map(str, arguments)], env=side[1], check=True,
                                  stdout=subprocess.PIPE, text=True).stdout.split()

        figures = {name: [run(side, "footprint") for _ in range(10)] for name, side in [("ours", ours), ("theirs", theirs)]}
        best = {name: [min(float(figure[place]) for figure in all_) for place in range(4)] for name, all_ in figures.items()}
        row("dlopen to the first slot, ms", best["ours"][0], goal=2)
        row("dlopen to the first slot, ms", best["ours"][0], "SoftHSM", best["theirs"][0])
        row("memory of the module's mappings, MB", best["ours"][1] / 1024, goal=4)
        for place, when in [(2, "at the first slot"), (3, "after a list")]:
            row(f"memory gained {when}, with libraries, MB", best["ours"][place] / 1024, "SoftHSM",
                best["theirs"][place] / 1024)
        seconds = 5 if full else 1.5
        for kind, name in KINDS.items():
            several = []
            for _ in range(ROUNDS):
                pair = [subprocess.Popen([load, ours[0], kind, str(seconds), "1"], env=ours[1], stdout=subprocess.PIPE, text=True)
                        for _ in range(2)]
                several.append((sum(float(one.communicate()[0]) for one in pair), float(run(ours, kind, seconds, 1)[0])))
            if len(process.cores()) > 1:
                row(f"{name} signatures, two processes, /s", max(two for two, _ in several), "one",
                    max(one for _, one in several), 1.6 if kind == "rsa" else 1.3, less_is_better=False)
        device.stop()
        # On one core, like the other measurements: if the provider has its own core, the time to wake a halted core is
        # added to each signature.
        core = process.pinned_to(process.cores()[:1])
        device.serve("--quiet", prefix=core)
        for kind, name in KINDS.items():
            figure = dict.fromkeys(["ours", "SoftHSM", "C on libcrypto"], 0.0)
            for _ in range(ROUNDS):
                for implementation, answer in [
                        ("ours", lambda: run(ours, kind, seconds, 1, prefix=core)[0]),
                        ("SoftHSM", lambda: run(theirs, kind, seconds, 1, PIN, prefix=core)[0]),
                        ("C on libcrypto", lambda: process.run(*core, reference, name, seconds, 1).stdout)]:
                    figure[implementation] = max(figure[implementation], float(answer()))
            is_rsa = kind == "rsa"
            what = f"{name} signatures through PKCS #11, one core, /s"
            row(what, figure["ours"], "SoftHSM", figure["SoftHSM"], 1.5 if is_rsa else 1, less_is_better=False)
            row(what, figure["ours"], "C on libcrypto", figure["C on libcrypto"], 0.85 if is_rsa else None, less_is_better=False)
    with Device(commands=build.release_commands()) as device:
        device.provision(1_000)
        device.provider("token", "add", "--all", timeout=600)
        device.serve("--quiet")
        lists = [subprocess.run([load, module, "list"], env=device.environment(), check=True, stdout=subprocess.PIPE, text=True)
                 .stdout.split() for _ in range(5)]
        need(int(lists[0][0]) == 3_001, f"the module lists {lists[0][0]} objects, expected 3,001")
        row("list of the objects of 1,000 identities, ms", min(float(took) for _, took in lists), goal=200)
