"""Foreign certificates and revocation lists, and the comparison of our findings about them with those of pkilint."""
import base64
import csv
import hashlib
import json
import os
import pathlib
import re

from toolbox import build
from toolbox.process import run

# Our codes for each error of pkilint. Any of them counts.
COUNTERPARTS = {
    "base.unhandled_exception": {
        "extension-malformed", "certificate-not-der", "public-key-malformed", "public-key-parameters",
        "signature-algorithms-differ", "signature-parameters"},
    "itu.invalid_asn1_syntax": {
        "extension-malformed", "certificate-not-der", "extension-default-encoded", "list-not-der",
        "signature-parameters", "public-key-parameters", "name-characters", "policy-notice-long", "bit-string-encoding",
        "boolean-encoding", "name-attribute-type"},
    "pkix.authority_key_identifier_extension_absent": {
        "authority-key-identifier-missing", "list-authority-key-identifier-missing"},
    "pkix.authority_key_identifier_keyid_missing": {"authority-key-identifier-incomplete"},
    "pkix.basic_constraints_extension_not_critical": {"basic-constraints-not-critical"},
    "pkix.ca_certificate_keycertsign_keyusage_not_set": {"key-usage-authority-signs-nothing"},
    "pkix.ca_certificate_no_ku_extension": {"key-usage-missing"},
    "pkix.certificate_serial_number_out_of_range": {
        "serial-not-positive", "serial-too-long", "list-entry-serial"},
    "pkix.certificate_skid_ca_missing": {"subject-key-identifier-missing"},
    "pkix.certificate_version_is_not_v3": {"version-not-3", "version-outdated"},
    "pkix.ee_certificate_keycertsign_keyusage_set": {"key-usage-signs-without-authority"},
    "pkix.invalid_domain_name_syntax": {"alternative-name-dns"},
    "pkix.invalid_email_address_syntax": {"alternative-name-email", "name-email"},
    "pkix.invalid_time_syntax": {"validity-time-format", "list-time-format"},
    "pkix.invalid_uri_syntax": {
        "alternative-name-uri", "distribution-point-uri", "information-access-uri"},
    "pkix.issuer_unique_id_present": {"unique-identifiers"},
    "pkix.key_usage_value_prohibited_for_ec": {"key-usage-unfit-for-key"},
    "pkix.key_usage_value_prohibited_for_rsa": {"key-usage-unfit-for-key"},
    "pkix.rfc5280_certificate_policies_invalid_explicit_text_encoding": {
        "policy-notice-encoding", "policy-notice-string-type"},
    "pkix.subject_email_address_not_in_san": {"mail-address-in-subject-only"},
    "pkix.subject_unique_id_present": {"unique-identifiers"},
    "pkix.utctime_incorrect_syntax": {"validity-time-format", "list-time-format"},
    "pkix.wrong_time_useful_type": {"validity-encoding", "list-time-encoding"},
}

# The number of files that one run of `inspect` reads.
BATCH = 200


def folder(argument):
    """The folder of the corpus: the argument, KEYSHARE_CORPORA, or `shared/corpora` next to the package."""
    named = argument or os.environ.get("KEYSHARE_CORPORA")
    return pathlib.Path(named) if named else build.PACKAGE.parent / "shared/corpora"


def explained():
    """The codes of pkilint in the table of differences in docs/inspect.md."""
    document = (build.PACKAGE / "docs/inspect.md").read_text()
    section = document.split("## Differences from pkilint", 1)[1].split("\n## ", 1)[0]
    return set(re.findall(r"^\| `([a-z0-9_.]+)` \|", section, re.MULTILINE))


def gather(corpus, scratch):
    """Writes every certificate and list of the corpus once, in DER, and returns their paths by kind."""
    found = {"certificate": {}, "list": {}}

    def add(kind, der):
        name = hashlib.sha256(der).hexdigest()
        if name not in found[kind]:
            path = scratch / f"{name}.{'crl' if kind == 'list' else 'der'}"
            path.write_bytes(der)
            found[kind][name] = path

    def add_text(text):
        for match in re.finditer(rb"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", text, re.DOTALL):
            try:
                add("certificate", base64.b64decode(b"".join(match.group(1).split())))
            except ValueError:
                continue

    for path in sorted(corpus.rglob("*")):
        suffix = path.suffix.lower()
        if suffix in (".crt", ".cer", ".pem"):
            data = path.read_bytes()
            add("certificate", data) if data[:1] == b"\x30" else add_text(data)
        elif suffix == ".crl" and path.read_bytes()[:1] == b"\x30":
            add("list", path.read_bytes())
    for row in stores(corpus):
        for legacy in ([], ["-legacy"]):
            opened = run(
                "openssl", "pkcs12", "-in", corpus / row["path"], "-nokeys", "-passin",
                f"pass:{row['password'] or ''}", *legacy, is_expected_to_succeed=False, timeout=60)
            if opened.stdout:
                add_text(opened.stdout)
                break
    return {kind: sorted(paths.values()) for kind, paths in found.items()}


def stores(corpus):
    """The PKCS #12 files of the manifest with their passwords."""
    manifest = corpus / "manifest.tsv"
    if not manifest.exists():
        return []
    with open(manifest, encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [
        row for row in rows
        if row["path"].endswith((".p12", ".pfx")) and (corpus / row["path"]).exists()]


def ours(files):
    """The codes of our findings by file; None for a file that `inspect` does not read."""
    codes = {}
    for start in range(0, len(files), BATCH):
        batch = files[start:start + BATCH]
        # One more file, so that the document is always a list.
        output = run(
            build.commands() / "keyshare-consumer", "inspect", "--json", *batch, "/dev/null",
            is_expected_to_succeed=False, timeout=600).stdout
        for path, document in zip(batch, json.loads(output)["files"]):
            objects = document["certificatesWithoutKey"] + document["revocationLists"]
            codes[path] = (
                {finding["code"] for item in objects for finding in item["findings"]}
                if document["verdict"] == "ok" else None)
    return codes


def compare(corpus, linter, scratch, failures):
    """Compares the findings about the whole corpus, and prints the totals."""
    files = gather(corpus, scratch)
    known, used = explained(), set()
    errors = missed = unread = 0
    for kind, paths in files.items():
        codes = ours(paths)
        for path in paths:
            if codes[path] is None:
                unread += 1
                continue
            for code, severity, message in linter.safe_findings(kind, path):
                if severity not in ("ERROR", "FATAL"):
                    continue
                errors += 1
                if COUNTERPARTS.get(code, set()) & codes[path]:
                    continue
                missed += 1
                used.add(code)
                failures.check(code in known, f"{path.name}: pkilint finds {code} ({message}), ours does not")
    for code in sorted(known - used):
        failures.check(False, f"{code} is explained in docs/inspect.md, and no certificate of the corpus has it")
    print(
        f"corpus: {len(files['certificate'])} certificates, {len(files['list'])} lists, {unread} not read by inspect; "
        f"{errors} errors of pkilint, {errors - missed} with a counterpart, {missed} explained or missed")
