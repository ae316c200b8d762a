"""A harness for the readers of the scoreboard (docs/conformance.md, "A harness")."""
import os
from concurrent.futures import ThreadPoolExecutor

from pkcs12_matrix import libraries
from pkcs12_scoreboard.readers import Failure, Refusal, in_folder
from toolbox import process


def results(reader, document, scratch):
    """The document with the results of a reader on all tests."""
    tests = [test for group in document["testGroups"] for test in group["tests"]]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = list(pool.map(lambda test: answer(reader, test, scratch), tests))
    pairs = [pair for _, found in answers for pair in found or [] if isinstance(found, list)]
    digests = iter(pair_digests(pairs, scratch))
    for result, found in answers:
        if found is not None:
            set_identities(result, [next(digests) for _ in found] if isinstance(found, list) else found, reader)
    return {"version": 1, "harness": f"{reader.title} {reader.program.version()}",
            "results": [result for result, _ in answers]}


def answer(reader, test, scratch):
    """The result of one test without its identities, and the pairs or digests that the reader returned."""
    try:
        found = in_folder(reader, test, scratch)
    except Failure as failure:
        return {"tcId": test["tcId"], "result": "failed", "context": str(failure)}, None
    except Refusal as refusal:
        return {"tcId": test["tcId"], "result": "rejected", "context": str(refusal)}, None
    return {"tcId": test["tcId"], "result": "accepted"}, found


def set_identities(result, digests, reader):
    """Sets the identities of a result. They are left out if a key or a certificate cannot be loaded, so that only the
    acceptance counts."""
    if any("unreadable" in each for each in digests):
        return
    found = set()
    for certificate, key, *rest in digests:
        if reader.is_pairing is not False or rest == [key]:
            found.add((certificate, key))
    result["identities"] = [
        {"certificateSha256": certificate, "publicKeySha256": key} for certificate, key in sorted(found)]


def pair_digests(pairs, scratch):
    """For each pair the SHA-256 of the certificate, of the key's public half, and of the certificate's public key."""
    if not pairs:
        return []
    helper = libraries.PyCA(scratch)
    helper.prepare()
    lines = "\n".join(f"{(key or b'').hex()} {certificate.hex()}" for key, certificate in pairs)
    printed = process.run(*helper.command(), "pairs", input=lines.encode()).stdout.decode()
    return [tuple(line.split()) for line in printed.splitlines()]
