"""Runs a process to its end, and several processes in turns."""
import contextlib
import fcntl
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

from toolbox.report import Missed


def run(*arguments, input=None, is_expected_to_succeed=True, environment=None, timeout=600):
    """Runs a command and returns its `CompletedProcess`, with standard output and standard error as bytes.

    `environment` contains variables that are set in addition to those of this process. Raises `Missed` if the command
    does not end within `timeout` seconds, or ends with another status than 0 although it is expected to succeed.
    """
    arguments = [str(argument) for argument in arguments]
    try:
        result = subprocess.run(
            arguments, input=input, capture_output=True, timeout=timeout,
            env={**os.environ, **(environment or {})})
    except subprocess.TimeoutExpired:
        raise Missed(f"no answer within {timeout} s: {' '.join(arguments)}") from None
    if is_expected_to_succeed and result.returncode != 0:
        said = (result.stdout + result.stderr).decode(errors="replace")
        raise Missed(f"{' '.join(arguments)} ended with {result.returncode}:\n{said}")
    return result


def end_on_signals():
    """Makes SIGTERM and SIGHUP end the process like an exception, so that scratch folders are removed and daemons are
    stopped. Running child processes get SIGTERM first, and up to five seconds for their own clean-up."""
    def end(number, _):
        for each in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(each, signal.SIG_IGN)
        children = _children()
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGTERM)
        deadline = time.monotonic() + 5
        while any(map(_is_running, children)) and time.monotonic() < deadline:
            time.sleep(0.05)
        sys.exit(128 + number)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})


def _children():
    """The direct children of this process, of all its threads."""
    tasks = pathlib.Path("/proc/self/task")
    return [int(child) for task in tasks.iterdir() for child in (task / "children").read_text().split()]


def _is_running(child):
    """Whether a child has not ended; its parent may not have waited for it."""
    try:
        return pathlib.Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def output(*arguments, **options):
    """Runs a command and returns its standard output as text; its standard error is shown unless `options` say
    otherwise."""
    words = [str(argument) for argument in arguments]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, **options)
    if done.returncode != 0:
        raise Missed("failed: " + " ".join(words))
    return done.stdout


def pinned_to(cores):
    """The prefix of a command that pins it to these cores; empty if taskset is not installed."""
    return ["taskset", "-c", ",".join(map(str, cores))] if shutil.which("taskset") else []


def cores():
    """The cores that this process may use."""
    return sorted(os.sched_getaffinity(0))


@contextlib.contextmanager
def exclusive(folder):
    """Waits until no other process holds a folder, and holds it. The lock ends with the process, and leaves no file."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for another process in {folder}", file=sys.stderr, flush=True)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
