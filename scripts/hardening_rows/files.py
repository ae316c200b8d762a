"""Files whose author chose how much work they are."""
import os
import resource
import shutil
import zipfile

from toolbox import process
from toolbox.device import Device
from toolbox.report import Skip, need

# An iteration count as openssl writes it, and a greater one of as many bytes: making a file takes half the time that
# reading it would.
MADE, CLAIMED = bytes.fromhex("02030f4240"), bytes.fromhex("02031e8480")


def patience(full):
    """Files inside every limit of counts, alone and as an archive: what reading them costs."""
    if not shutil.which("openssl"):
        raise Skip("there is no openssl to make the files with")
    with Device() as device:
        made = bombs(device.scratch)
        is_release = os.path.basename(os.path.realpath(device.commands)) == "release"
        worst = 0
        for path in made:
            seconds, status = cost(device, "inspect", path)
            need(status in (0, 3, 10), f"{os.path.basename(path)}: inspect ended with {status}")
            worst = max(worst, seconds)
        # A debug build derives keys some times more slowly.
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
