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
    if report["verdict"] != "ok":
        return ["malformed"]
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
    if report["verdict"] != "ok":
        return {"The file is malformed"}
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
    found.update(f"Note: {note}" for note in report["notes"])
    return found


def suspects(file, opened):
    """The features of a rejected file that no opened file has. If there are none, the pairs of features."""
    mine, known = features(file), [features(each) for each in opened]
    rest = mine.difference(*known)
    kind = f"The key is {KINDS[file.material.kind]}"
    if opened and kind in rest:
        return [kind]
    for covered in ["keys", "certificates"]:
        # The more general feature is the better reason.
        if f"The {covered} are encrypted with PBES2" in rest:
            rest = {one for one in rest if not (one.startswith(f"The {covered} ") and one.endswith(" of PBES2"))}
    if rest:
        return sorted(rest)
    pairs = sorted(
        f"{one}, and {other[0].lower()}{other[1:]}" for one in mine for other in mine
        if one < other and not any({one, other} <= each for each in known))
    return pairs[:2] or ["No feature distinguishes the file from those that the reader opens"]


def model_entry(file, model):
    """The entry of a reader model in a file's report, or nil."""
    return next((entry for entry in file.report.get("readers") or [] if entry["reader"] == model), None)


def diagnosis(file, model, opened):
    """The reasons why a reader rejects a file, and their source: `inspect`, the model, or the measured cells."""
    if file.report["verdict"] != "ok":
        return ["The file is malformed: inspect reports that " + file.report["message"]], "inspect"
    entry = model_entry(file, model) if model else None
    if entry and entry["outcome"] == "fails":
        return [reason.removesuffix(".") for reason in entry["reasons"]], "model"
    return suspects(file, opened), "measured"
