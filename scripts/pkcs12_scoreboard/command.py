"""`scripts/scoreboard` and `scripts/scoreboard harness`."""
import json
import pathlib
import sys
import tempfile

from pkcs12_matrix import libraries
from pkcs12_matrix.command import encoded
from pkcs12_scoreboard import harness, page
from pkcs12_scoreboard.readers import READERS
from toolbox import build, install, process
from toolbox.build import PACKAGE
from toolbox.report import Missed, WrongArguments, need

PAGE = PACKAGE / "docs/scoreboard.md"
DOCUMENT = PACKAGE / "docs/scoreboard.json"
EXAMPLES = PACKAGE / "docs/examples/harness"
MANIFEST = PACKAGE / "Fixtures/Files/manifest.json"


def run_harness(arguments):
    """`scripts/scoreboard harness READER`: the contract of docs/conformance.md."""
    if len(arguments) != 1 or arguments[0] not in READERS:
        raise WrongArguments("the readers are " + ", ".join(READERS))
    with tempfile.TemporaryDirectory(prefix="harness-") as scratch:
        reader = READERS[arguments[0]](pathlib.Path(scratch))
        reader.prepare()
        json.dump(harness.results(reader, json.load(sys.stdin), pathlib.Path(scratch)), sys.stdout, indent=1)
    print()
    return 0


def check():
    """Checks the committed files without running another program."""
    document = json.loads(DOCUMENT.read_text())
    vectors = json.loads(MANIFEST.read_text())["vectors"]
    page.check(document, {vector["name"] for vector in vectors if vector["file"].endswith(".p12")})
    need(DOCUMENT.read_text() == encoded(document), f"{DOCUMENT.name} was edited")
    need(PAGE.read_text() == page.markdown(document), f"{PAGE.name} differs from {DOCUMENT.name}")
    return document


def harnesses(scratch):
    """The name, title, model and command of each harness, in the order of the columns; and those that cannot run."""
    found, absent = [], []
    for name, kind in READERS.items():
        if name == "wolfssl":
            # Examples of the documentation run as they are.
            interpreter = install.python("interop-python", "cryptography", "cryptography")
            found.append(("pyca", libraries.PyCA.title, None, [interpreter, EXAMPLES / "pyca.py"]))
        reader = kind(scratch / name)
        try:
            install.tools(dict(reader.program.tools))
        except SystemExit:
            absent.append({"title": reader.title, "reason": "its package cannot be installed"})
            continue
        found.append((name, reader.title, reader.model, [PACKAGE / "scripts/scoreboard", "harness", name]))
    return found, absent


def measured():
    """The document of a new run, and the differences from the reader models."""
    with tempfile.TemporaryDirectory(prefix="scoreboard-") as scratch:
        scratch = pathlib.Path(scratch)
        folder = scratch / "vectors"
        provider = build.commands() / "keyshare-provider"
        process.run(provider, "vectors", "-o", folder, "--seed", "1", "--at", "2026-01-01", "--quiet")
        vectors = folder / "pkcs12-vectors.json"
        expected = predictions(folder)
        found, absent = harnesses(scratch)
        readers, surprises, verdicts = [], [], {}
        for name, title, model, command in found:
            results = scratch / f"{name}.json"
            try:
                results.write_bytes(process.run(
                    *command, input=vectors.read_bytes(), timeout=7200, environment={"TMPDIR": str(scratch)}).stdout)
            except Missed as reason:
                print(reason, file=sys.stderr)
                absent.append({"title": title, "reason": "its harness cannot be built or started"})
                continue
            report = json.loads(process.run(
                sys.executable, EXAMPLES / "score.py", "--json", vectors, results, is_expected_to_succeed=False).stdout)
            version = report["consumer"][0].removeprefix(title).strip()
            readers.append({"name": name, "title": title, "version": version, "summary": report["summary"]})
            verdicts[name] = report["results"]
            print(f"{report['consumer'][0]}: {report['summary']}", file=sys.stderr, flush=True)
            surprises += unpredicted(title, report["results"], expected, model)
        document = {
            "format": "keyshare-pkcs12-scoreboard", "version": 1, "readers": readers, "absent": absent,
            "tests": page.tests(json.loads(vectors.read_text()), verdicts)}
    return document, surprises


def predictions(folder):
    """The predictions of the reader models for each file of the group formats, by the name of the test."""
    found = {}
    for vector in json.loads((folder / "manifest.json").read_text())["vectors"]:
        if "formats" not in vector["groups"] or not vector["file"].endswith(".p12"):
            continue
        result = process.run(
            build.commands() / "keyshare-consumer", "inspect", folder / vector["file"], "--json", "--readers",
            "--password-stdin", input=(vector.get("password") or "").encode() + b"\n", is_expected_to_succeed=False)
        readers = json.loads(result.stdout).get("readers") or []
        found[vector["name"]] = {entry["reader"]: entry["outcome"] for entry in readers}
    return found


def unpredicted(title, results, expected, model):
    """The results of a reader that differ from its model."""
    for result in results:
        predicted = expected.get(result["name"], {}).get(model)
        # A slow file may still open.
        if predicted in (None, "unknown") or result["seen"] not in ("accepted", "rejected"):
            continue
        if (result["seen"] == "accepted") != (predicted in ("opens", "partly")):
            yield f"{result['name']}: {title} has {result['seen']} it ({result['stderr']}), its model predicts {predicted}"


def run(arguments):
    """Runs the command with its arguments; returns the exit code."""
    if arguments == ["--check"]:
        document, surprises = check(), []
    elif arguments:
        raise WrongArguments(" ".join(arguments))
    else:
        document, surprises = measured()
        DOCUMENT.write_text(encoded(document))
        PAGE.write_text(page.markdown(document))
    print(page.summary(document))
    for surprise in surprises:
        print("SURPRISE  " + surprise)
    return 1 if surprises else 0
