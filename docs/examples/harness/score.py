#!/usr/bin/env python3
"""Compares the results of a harness with pkcs12-vectors.json. The exit code is 0 if every test passes, 7 otherwise, and
64 if the results are malformed. --json prints a report that keyshare-provider conformance diff reads.

    docs/examples/harness/score.py [--json] vectors/pkcs12-vectors.json results.json
"""
import json
import pathlib
import sys

EXPECTED = {"valid": "accept", "invalid": "refuse", "acceptable": "either"}


def verdict(test, result):
    """The verdict on one result, a word of conformance."""
    if result is None or result["result"] == "skipped":
        return "not-run"
    if result["result"] == "failed":
        return "hang" if result.get("context") == "hang" else "crash"
    if result["result"] not in ("accepted", "rejected"):
        raise ValueError(f"test {test['tcId']} has the result {result['result']}")
    if result["result"] == "rejected":
        return "refuses-good" if test["result"] == "valid" else "pass"
    if test["result"] == "invalid":
        return "accepts-bad"
    if test["result"] == "acceptable" and not test["identities"]:
        # This package's reader rejects the file, so there are no digests to compare.
        return "pass"
    wanted = {(one["certificateSha256"], one["publicKeySha256"]) for one in test["identities"]}
    got = {(one["certificateSha256"], one["publicKeySha256"]) for one in result.get("identities", test["identities"])}
    # An identity that is not in the list is a wrong pair of key and certificate.
    return "accepts-bad" if got - wanted else "pass" if got == wanted else "incomplete"


def main(arguments):
    paths = [argument for argument in arguments if argument != "--json"]
    vectors, outcome = (json.loads(pathlib.Path(path).read_text(encoding="utf-8")) for path in paths)
    tests = [test for group in vectors["testGroups"] for test in group["tests"]]
    try:
        results = {result["tcId"]: result for result in outcome["results"]}
        verdicts = [(test, results.get(test["tcId"]), verdict(test, results.get(test["tcId"]))) for test in tests]
    except (KeyError, TypeError, ValueError) as error:
        print(f"the results are malformed: {error}", file=sys.stderr)
        return 64
    summary = {}
    for _, _, word in verdicts:
        summary[word] = summary.get(word, 0) + 1
    if "--json" in arguments:
        json.dump({"consumer": [outcome["harness"]], "claims": "identity", "summary": summary, "results": [
            {"name": test["name"], "groups": [], "description": test["comment"], "why": ", ".join(test["flags"]),
             "expected": {"answer": EXPECTED[test["result"]]}, "behaviour": "", "verdict": word, "seconds": 0,
             "seen": result["result"] if result else "no result", "stderr": (result or {}).get("context", "")}
            for test, result, word in verdicts]}, sys.stdout, indent=1)
        print()
    else:
        for test, result, word in verdicts:
            if word != "pass":
                context = ((result or {}).get("context") or "").strip().split("\n")[0]
                print(f"{word:13} {test['name']:28} {context[:100]}".rstrip())
        counts = ", ".join(f"{count} {word}" for word, count in sorted(summary.items(), key=lambda one: -one[1]))
        print(f"{outcome['harness']}: {len(tests)} tests: {counts}")
    return 0 if set(summary) <= {"pass"} else 7


if __name__ == "__main__":
    if len([argument for argument in sys.argv[1:] if argument != "--json"]) != 2:
        sys.exit("usage: score.py [--json] VECTORS RESULTS")
    sys.exit(main(sys.argv[1:]))
