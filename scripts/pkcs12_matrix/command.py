"""`scripts/scoreboard matrix`."""
import json
import pathlib
import sys

from pkcs12_matrix import measure, page
from toolbox.build import PACKAGE
from toolbox.report import WrongArguments, need

PAGE = PACKAGE / "docs/pkcs12-matrix.md"
DOCUMENT = PACKAGE / "docs/pkcs12-matrix.json"


def encoded(document):
    """The document as JSON, with one element of its lists in each line."""
    parts = []
    for name, value in document.items():
        if isinstance(value, list):
            lines = ",\n".join("  " + json.dumps(element, ensure_ascii=False) for element in value)
            parts.append(f' "{name}": [\n{lines}\n ]' if value else f' "{name}": []')
        else:
            parts.append(f' "{name}": {json.dumps(value, ensure_ascii=False)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def check():
    """Checks the committed files without running another program."""
    document = json.loads(DOCUMENT.read_text())
    page.check(document)
    need(DOCUMENT.read_text() == encoded(document), f"{DOCUMENT.name} was edited")
    need(PAGE.read_text() == page.markdown(document), f"{PAGE.name} differs from {DOCUMENT.name}")
    return document


def run(arguments):
    """Runs the command with its arguments; returns the exit code."""
    html = None
    if arguments[:1] == ["--html"] and len(arguments) == 2:
        html = pathlib.Path(arguments[1])
    elif arguments not in ([], ["--check"]):
        raise WrongArguments(" ".join(arguments))
    if arguments == ["--check"]:
        document = check()
    else:
        document = measure.measured()
        DOCUMENT.write_text(encoded(document))
        PAGE.write_text(page.markdown(document))
        if html:
            html.write_text(page.html_page(document))
        page.check(document)
    print(page.summary(document))
    for absent in document["absent"]:
        print(f"not measured: {absent['title']}: {absent['reason']}", file=sys.stderr)
    surprises = measure.surprises(document)
    for surprise in surprises:
        print("SURPRISE  " + surprise)
    return 1 if surprises else 0
