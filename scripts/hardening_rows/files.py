"""Files that are deliberately expensive to read."""
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import zipfile

from toolbox import process
from toolbox.device import Device
from toolbox.report import Skip, need

# An iteration count as openssl writes it, and a greater one of as many bytes: making a file takes half the time that
# reading it would.
MADE, CLAIMED = bytes.fromhex("02030f4240"), bytes.fromhex("02031e8480")


# Replaces a folder as scripts/package does, which would fail if another process did it at the same time.
REPLACING = """
import os, pathlib, shutil, sys, tempfile
from toolbox.process import exclusive
checkout = pathlib.Path(sys.argv[1])
for _ in range(int(sys.argv[2])):
    with exclusive(checkout):
        for left in checkout.glob(".dist-*"):
            shutil.rmtree(left)
        with tempfile.TemporaryDirectory(dir=checkout, prefix=".dist-") as scratch:
            made = pathlib.Path(scratch, "dist")
            made.mkdir()
            for number in range(20):
                (made / str(number)).write_text("made")
            shutil.rmtree(checkout / "dist", ignore_errors=True)
            os.replace(made, checkout / "dist")
"""


def packages(full):
    """Processes that build packages in one checkout run one at a time."""
    rounds = 200 if full else 50
    scripts = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    with tempfile.TemporaryDirectory() as checkout:
        started = [
            subprocess.Popen([sys.executable, "-c", REPLACING, checkout, str(rounds)],
                             env={**os.environ, "PYTHONPATH": scripts}, stderr=subprocess.PIPE, text=True)
            for _ in range(4)]
        for child in started:
            errors = child.communicate(timeout=300)[1]
            need(child.returncode == 0, f"a process failed:\n{errors}")
        left = sorted(os.listdir(checkout))
        need(left == ["dist"] and len(os.listdir(os.path.join(checkout, "dist"))) == 20, f"left: {left}")
    return f"4 processes replaced a folder {rounds} times each, and none failed"


def patience(full):
    """Files within every limit, as single files and as an archive: the cost of reading them."""
    if not shutil.which("openssl"):
        raise Skip("openssl is not installed")
    with Device() as device:
        made = bombs(device.scratch)
        is_release = os.path.basename(os.path.realpath(device.commands)) == "release"
        worst = 0
        for path in made:
            seconds, status = cost(device, "inspect", path)
            need(status in (0, 3, 10), f"{os.path.basename(path)}: inspect ended with {status}")
            worst = max(worst, seconds)
        # A debug build derives keys several times more slowly.
        need(worst <= 2.5 or not is_release, f"a file took {worst:.1f} s of processor time")
        archive = os.path.join(device.scratch, "all.zip")
        with zipfile.ZipFile(archive, "w") as target:
            for number in range(256):
                target.write(made[-1], f"{number}.p12")
        limit = 2.0 if full else 0.5
        seconds, status = cost(device, "import", "--allow-no-mac", "--patience", str(limit), "--file", archive)
        need(status == 10, f"the archive: import ended with {status}")
        need(seconds <= 10 * limit + 2 or not is_release, f"the archive took {seconds:.1f} s of processor time")
        build = "" if is_release else " (debug build: times are not judged)"
        return f"{len(made)} files <= {worst:.1f} s each, 256 in an archive {seconds:.1f} s of 10 x {limit} s{build}"


def bombs(folder):
    """Files with two million iterations: under the slowest digest, in the MAC, in the key and in both safes."""
    key, certificate = os.path.join(folder, "key.pem"), os.path.join(folder, "certificate.pem")
    process.run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=Bomb", "-keyout", key,
                "-out", certificate)
    made = []
    for number, options in enumerate([
            ("-macalg", "whirlpool", "-provider", "legacy", "-provider", "default"), ("-macalg", "sha3-512"),
            ("-macalg", "sha1", "-keypbe", "PBE-SHA1-3DES", "-certpbe", "PBE-SHA1-3DES"), ("-nomac",)]):
        path = os.path.join(folder, f"{number}.p12")
        process.run("openssl", "pkcs12", "-export", "-inkey", key, "-in", certificate, "-passout", "pass:password",
                    "-iter", "1000000", "-maciter", *options, "-out", path)
        with open(path, "rb") as file:
            data = file.read()
        need(MADE in data, "openssl wrote no iteration count")
        with open(path, "wb") as file:
            file.write(data.replace(MADE, CLAIMED))
        made.append(path)
    return made


def cost(device, *arguments):
    """The processor time of a command of the consumer in seconds, and its status."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = device.run("keyshare-consumer", *arguments, "--password-stdin", "--json", input="password\n")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, run.returncode
