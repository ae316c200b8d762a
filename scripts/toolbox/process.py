"""One process run to its end."""
import os
import shutil
import subprocess

from toolbox.report import Missed


def run(*arguments, input=None, is_expected_to_succeed=True, environment=None, timeout=600):
    """Runs a command and gives its `CompletedProcess`, with standard output and standard error as bytes.

    `environment` holds variables that are set beside those of this process. Raises `Missed` where the command
    gives no answer within `timeout` seconds, or ends with another status than 0 though it is expected to succeed.
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


def pinned_to(cores):
    """The words before a command that keep it on these cores; none where there is no taskset."""
    return ["taskset", "-c", ",".join(map(str, cores))] if shutil.which("taskset") else []


def cores():
    """The cores that this process may use."""
    return sorted(os.sched_getaffinity(0))
