"""Installs the missing tools that a script compares with."""
import pathlib
import shutil
import subprocess
import sys

from toolbox import process
from toolbox.build import PACKAGE


def tools(packages):
    """Installs the missing ones of the tools that are the keys of `packages`; the values are Debian's names for the
    packages that have them."""
    missing = [package for tool, package in packages.items() if not shutil.which(tool)]
    if missing and subprocess.run([PACKAGE / "scripts/install-dependencies", *missing]).returncode != 0:
        sys.exit(1)


def python(folder, requirement, module):
    """The path of a Python in a virtual environment below .build that has `module`, which pip installs as
    `requirement` if it is missing."""
    environment = PACKAGE / ".build" / folder
    interpreter = pathlib.Path(environment, "bin", "python3")
    has_module = interpreter.exists() and process.run(
        interpreter, "-c", f"import {module}", is_expected_to_succeed=False).returncode == 0
    if not has_module:
        print(f"installing {requirement}", file=sys.stderr)
        process.run(sys.executable, "-m", "venv", environment)
        process.run(interpreter, "-m", "pip", "install", "--quiet", requirement)
    return interpreter
