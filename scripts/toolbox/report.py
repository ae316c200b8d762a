"""Goals, refusals and arguments of a script."""
import os
import sys


class Skip(Exception):
    """A part of a script cannot run here; the text contains the reason."""


class Missed(Exception):
    """A goal was missed or a step failed; the text contains the actual result."""


class WrongArguments(Exception):
    """The script was called with invalid arguments; the text names them."""


def need(condition, message):
    """Raises `Missed` with this message if the condition does not hold."""
    if not condition:
        raise Missed(message)


def percentile(values, part):
    """The value below which `part` (0 to 1) of the values lie."""
    values = sorted(values)
    return values[min(int(len(values) * part), len(values) - 1)]


def run_script(main, document):
    """Runs `main` with the command line's arguments and ends the process with the status that it returns.

    --help prints the script's document. Wrong arguments end with 64 (EX_USAGE of sysexits.h), and `Missed` and
    `Skip` with 1 and their text.
    """
    name, arguments = os.path.basename(sys.argv[0]), sys.argv[1:]
    if {"-h", "--help"} & set(arguments):
        print(document.strip())
        sys.exit(0)
    try:
        sys.exit(main(arguments))
    except WrongArguments as reason:
        print(f"{document.strip()}\n\nscripts/{name}: {reason}", file=sys.stderr)
        sys.exit(64)
    except (Missed, Skip) as reason:
        sys.exit(f"scripts/{name}: {reason}")
