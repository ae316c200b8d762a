"""Builds the commands, and locates them."""
import functools
import os
import pathlib
import shutil
import subprocess
import sys

from toolbox import process
from toolbox.report import Skip, need

PACKAGE = pathlib.Path(__file__).resolve().parents[2]


def _built(*arguments, script="built-products"):
    """The folder that a script of scripts/toolbox prints; its build output goes to standard error."""
    built = subprocess.run([PACKAGE / "scripts/toolbox" / script, *arguments], stdout=subprocess.PIPE, text=True)
    if built.returncode != 0:
        sys.exit(built.returncode)
    return pathlib.Path(built.stdout.strip())


@functools.cache
def commands():
    """The folder of keyshare-provider, keyshare-consumer and keyshare-device: KEYSHARE_BIN if it is set, otherwise
    a debug build."""
    return _built()


@functools.cache
def module():
    """The path of libkeyshare-pkcs11.so: in the folder KEYSHARE_BIN if it is set, otherwise in a debug build
    that is built now."""
    path = _built("keyshare-pkcs11") / "libkeyshare-pkcs11.so"
    need(path.exists(), f"{path} does not exist; run swift build --product keyshare-pkcs11")
    return path


@functools.cache
def tool(product):
    """The path of a benchmark or a command in its release build, which is built now in .build-tools."""
    return _built("--tools", product) / product


def release_commands():
    """The folder of a provider for measurements: KEYSHARE_BIN if it is set, otherwise a release build."""
    return commands() if os.environ.get("KEYSHARE_BIN") else tool("keyshare-provider").parent


def need_release():
    """Raises `Skip` unless `commands` are a release build."""
    if os.path.basename(os.path.realpath(commands())) != "release":
        raise Skip("times are measured only on a release build; set KEYSHARE_BIN=.build/release")


def compile_c(source, target, *options):
    """Compiles a C program or library and returns its path; options may name libraries. Raises `Skip` if no
    compiler is installed."""
    if not shutil.which("cc"):
        raise Skip("no C compiler is installed")
    # Libraries must follow the source that needs them.
    process.run("cc", "-O2", "-o", target, source, *options)
    return target


def signing_reference(scratch):
    """A loop of signatures in C on libcrypto, with any number of threads."""
    return compile_c(PACKAGE / "Benchmarks/sign-reference.c", os.path.join(scratch, "sign"), "-pthread", "-lcrypto")


@functools.cache
def tests():
    """The folder of the test runner, which is built now."""
    return _built(script="built-tests")


def swift_tests(pattern, **variables):
    """Runs the tests whose names match, with these environment variables; returns how many there were and how long
    they took."""
    run = subprocess.run(
        [tests() / "KeySharingPackageTests.xctest", "--testing-library", "swift-testing", "--filter", pattern],
        cwd=PACKAGE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **variables})
    line = next((line for line in run.stdout.splitlines()[::-1] if "Test run with" in line), "")
    need(run.returncode == 0, "failed: swift test --filter " + pattern)
    need(line and "with 0 tests" not in line, f"no test matches {pattern}")
    return line.split("Test run with ")[-1].split(" passed")[0]
