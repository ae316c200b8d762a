"""Features of PKCS #12 files, and the reasons why a reader rejects a file."""
import json

from pkcs12_matrix.files import KINDS, run
from toolbox import build


def inspect(file):
    """The JSON that `inspect --readers` prints for a file."""
    result = run(
        build.commands() / "keyshare-consumer", "inspect", file.path, "--json", "--readers", "--password-file",
        file.material.password_file, is_expected_to_succeed=False)
    return json.loads(result.stdout)


def encryption(report):
    """The encryption of a file in one line for each part."""
    lines = []
    for covered in ["keys", "certificates"]:
        layers = [each for each in report["encryption"] if each["covers"] == covered]
        texts = {layer_text(each) for each in layers} or {"not encrypted"}
        lines += [f"{covered}: {text}" for text in sorted(texts)]
    if len({line.split(": ", 1)[1] for line in lines}) == 1:
        return [lines[0].split(": ", 1)[1]]
    return lines


def layer_text(layer):
    """One layer of encryption in words, without its iteration count."""
    if layer["scheme"] == "PBES2":
        return f"PBES2, {layer['cipher']}, {layer['kdf']} with {layer['prf']}"
    return layer["scheme"]


def mac(report):
    """The MAC in words."""
    return report["mac"]["algorithm"] if report["mac"]["present"] else "no MAC"


def features(file):
    """The features of a file that a reader may not support, as sentences without their full stop."""
    report, found = file.report, set()
    for layer in report["encryption"]:
        if layer["scheme"] == "PBES2":
            found.add(f"The {layer['covers']} are encrypted with PBES2")
            found.add(f"The {layer['covers']} are encrypted with {layer['cipher']} of PBES2")
            found.add(f"The key derivation uses {layer['prf']}")
        else:
            found.add(f"The {layer['covers']} are encrypted with {layer['scheme']}")
    for covered in ["keys", "certificates"]:
        if not any(layer["covers"] == covered for layer in report["encryption"]):
            found.add(f"The {covered} are not encrypted")
    found.add(f"The MAC is {report['mac']['algorithm']}" if report["mac"]["present"] else "The file has no MAC")
    found.add(f"The key is {KINDS[file.material.kind]}")
    if not all(identity.get("localKeyID") for identity in report["identities"]):
        found.add("The certificate has no localKeyID")
    if not all(identity.get("friendlyName") for identity in report["identities"]):
        found.add("The certificate has no friendly name")
    found.update(f"The file has a note: {note['code']}" for note in report["notes"] if "code" in note)
    return found


# The more general feature is the better reason.
GENERAL = {" of PBES2": " with PBES2"}


def suspects(file, opened):
    """The features of a rejected file that no opened file has. If there are none, the pairs of features."""
    mine = features(file)
    rest = mine - set().union(*[features(each) for each in opened]) if opened else mine
    if "The key is " + KINDS[file.material.kind] in rest and opened:
        return ["The key is " + KINDS[file.material.kind]]
    for one in list(rest):
        for detail, general in GENERAL.items():
            if one.endswith(detail) and any(other != one and other.endswith(general[1:]) and
                                            other.split(" are ")[0] == one.split(" are ")[0] for other in rest):
                rest.discard(one)
    if rest:
        return sorted(rest)
    pairs = sorted(
        f"{one}, and {other[0].lower()}{other[1:]}" for one in mine for other in mine
        if one < other and not any({one, other} <= features(each) for each in opened))
    return pairs[:2]


def model_entry(file, model):
    """The entry of a reader model in a file's report, or nil."""
    return next((entry for entry in file.report.get("readers") or [] if entry["reader"] == model), None)


def diagnosis(file, model, opened):
    """The reasons why a reader rejects a file, and their source: its model, or the measured cells."""
    entry = model_entry(file, model) if model else None
    if entry and entry["outcome"] == "fails":
        return [reason.removesuffix(".") for reason in entry["reasons"]], "model"
    return suspects(file, opened), "measured"
