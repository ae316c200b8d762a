"""The figures of docs/packaging.md: sizes of the distributed files, and start times of the commands."""
import os
import pathlib
import re
import subprocess
import tempfile

from toolbox.build import PACKAGE
from toolbox.process import output, run
from toolbox.report import need

PAGE = PACKAGE / "docs/packaging.md"
# The part of a size by which the page may differ from the files.
_TOLERANCE = 0.1
_COMMANDS = ["keyshare-consumer --version", "keyshare-device status", "keyshare-consumer list",
             "keyshare-provider list Encryption"]
_ROUNDS = 60


def _unpacked(dist, folder):
    """Unpacks the Debian package, and returns its file."""
    packages = sorted(dist.glob("*.deb"))
    need(len(packages) == 1, "dist/ has no package; run scripts/package first")
    run("dpkg-deb", "-x", packages[0], folder)
    return packages[0]


def _sizes(dist):
    """The size of each distributed thing, in bytes."""
    with tempfile.TemporaryDirectory() as folder:
        package = _unpacked(dist, folder)
        files = [path for path in pathlib.Path(folder).rglob("*") if path.is_file() and not path.is_symlink()]
        named = {path.name: path.stat().st_size for path in files}
        archive, = dist.glob("*.tar.gz")
        return {
            "executable": named["keyshare"], "PKCS #11 module": named["libkeyshare-pkcs11.so"],
            "installed files": sum(path.stat().st_size for path in files),
            "Debian package": package.stat().st_size, "archive": archive.stat().st_size}


def _start_times(dist):
    """The least processor time of each command, in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        _unpacked(dist, folder)
        environment = {"PATH": f"{folder}/usr/bin", "KEYSHARE_DEVICE": f"{folder}/device"}
        pathlib.Path(folder, "password").write_text("password")
        subprocess.run(
            f"""set -e; umask 077; chmod 600 {folder}/password
            keyshare-provider provision --types encryption --key p256 --quiet
            keyshare-provider export --all --password-file {folder}/password -o {folder}/files --quiet
            for file in {folder}/files/*.p12; do
                keyshare-consumer import --file $file --password-file {folder}/password --quiet; done""",
            shell=True, executable="/bin/bash", env={**environment, "PATH": f"{environment['PATH']}:/bin"}, check=True,
            stdout=subprocess.DEVNULL)

        def taken(words):
            process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            need(process.returncode == 0, f"{' '.join(words)} ends with {process.returncode}")
            return (usage.ru_utime + usage.ru_stime) * 1000
        return {command: min(taken(command.split()) for _ in range(_ROUNDS)) for command in _COMMANDS}


def _table(page, name):
    """The text between the markers of a table."""
    found = re.search(rf"(<!-- {name}: .*? -->\n)(.*?)(<!-- end -->)", page, re.DOTALL)
    need(found, f"{PAGE.name} has no table for {name}")
    return found


def _replaced(page, name, lines):
    found = _table(page, name)
    return page[:found.start(2)] + "\n".join(lines) + "\n" + page[found.end(2):]


def write(dist, limits):
    """Measures, and writes the tables."""
    page = PAGE.read_text(encoding="utf-8")
    version = sorted(dist.glob("*.deb"))[0].name.split("_")[1:]
    rows = [f"| {name} | {size / 1e6:.1f} | {limits[name] / 1e6:.0f} |" if name in limits else
            f"| {name} | {size / 1e6:.1f} | |" for name, size in _sizes(dist).items()]
    swift = re.search(r"Swift version (\S+)", output("swift", "--version", stderr=subprocess.DEVNULL))[1]
    header = f"| {version[-1].removesuffix('.deb')}, Swift {swift}, stripped | MB | limit |"
    page = _replaced(page, "sizes", [header, "|---|---|---|", *rows])
    rows = [f"| `{command}` | {taken:.1f} |" for command, taken in _start_times(dist).items()]
    page = _replaced(page, "start times", ["| command | ms |", "|---|---|", *rows])
    PAGE.write_text(page, encoding="utf-8")


def check(dist):
    """Raises `Missed` if the page shows another size than the files have. A page without figures is only reported."""
    table = _table(PAGE.read_text(encoding="utf-8"), "sizes")[2]
    if "|" not in table:
        print(f"{PAGE.name} has no sizes yet; run scripts/package --figures")
        return
    shown = dict(re.findall(r"^\| (.*?) \| ([\d.]+) \|", table, re.MULTILINE))
    for name, size in _sizes(dist).items():
        need(name in shown and abs(float(shown[name]) * 1e6 - size) <= _TOLERANCE * size,
             f"{PAGE.name} shows {shown.get(name, 'no')} MB for {name}, which has {size / 1e6:.1f}; "
             "run scripts/package --figures")
