"""The page of the scoreboard: docs/scoreboard.md, from docs/scoreboard.json."""
from pkcs12_matrix.page import table
from toolbox.report import need

VERDICTS = ["pass", "incomplete", "refuses-good", "accepts-bad", "hang", "crash", "not-run"]
HEAD = """# The scoreboard

This page shows how other programs read the PKCS #12 test vectors. A deviation is not always a defect: many programs
decide not to support old or rare algorithms.

`scripts/scoreboard` generates this page and [scoreboard.json](scoreboard.json); do not edit them. It runs a
[harness](conformance.md#a-harness) for each program. The harness reads `pkcs12-vectors.json`. For each file, it reports
whether the program accepts the file, and which keys and certificates it imports. The limit for each file is 10 s of
processor time, or 20 s for Java. `scripts/scoreboard harness NAME` runs the harness of one program, and
[score.py](examples/harness/score.py) evaluates its results.
"""


def tests(vectors, verdicts):
    """Each test with its expected result, and the verdicts of the readers that deviate."""
    found = []
    for group in vectors["testGroups"]:
        for test in group["tests"]:
            found.append({"name": test["name"], "result": test["result"], "flags": test["flags"], "deviations": {}})
    by_name = {each["name"]: each for each in found}
    for reader, results in verdicts.items():
        for result in results:
            if result["verdict"] != "pass":
                by_name[result["name"]]["deviations"][reader] = result["verdict"]
    return found


def summary(document):
    """The figures of the page in one sentence."""
    count = len(document["tests"])
    deviating = sum(1 for test in document["tests"] if test["deviations"])
    return (f"{len(document['readers'])} harnesses, {count} test vectors. {count - deviating} pass with every "
            f"harness. At least one harness deviates on each of the other {deviating}.")


def markdown(document):
    """The page in Markdown."""
    lines = [HEAD, summary(document), "", "## Programs", ""]
    lines += table(["program", "version", *[f"`{verdict}`" for verdict in VERDICTS]], [
        [reader["title"], reader["version"], *[reader["summary"].get(verdict, "") for verdict in VERDICTS]]
        for reader in document["readers"]])
    if document["absent"]:
        lines += ["Not measured:", ""]
        lines += [f"* {absent['title']}: {absent['reason']}." for absent in document["absent"]] + [""]
    lines += [
        "[Conformance](conformance.md#expected-behaviour) explains the verdicts. Three of them also compare identities:",
        "",
        "* `accepts-bad`: the program accepts an invalid file, or pairs a key with the certificate of another key.",
        "* `incomplete`: the program accepts the file, but returns fewer identities than the file contains.",
        "* `refuses-good`: the program rejects a valid file, or returns none of its identities.",
        "", "## Deviations", "",
        "Test vectors that pass with every harness are not listed. An empty cell means `pass`.", ""]
    readers = [reader["name"] for reader in document["readers"]]
    lines += table(["test vector", "result", *[reader["title"] for reader in document["readers"]]], [
        [f"`{test['name']}`", test["result"], *[test["deviations"].get(reader, "") for reader in readers]]
        for test in sorted(document["tests"], key=lambda test: (test["flags"][0], test["name"])) if test["deviations"]])
    return "\n".join(lines).rstrip() + "\n"


def check(document, names):
    """Raises `Missed` unless the document has a verdict of each reader on each test vector with one of these names."""
    measured = {test["name"] for test in document["tests"]}
    need(measured == names, "run scripts/scoreboard: the page lacks the test vectors "
         f"{sorted(names - measured)}, and has too many {sorted(measured - names)}")
    need(len(document["readers"]) >= 8, "fewer than 8 harnesses")
    for reader in document["readers"]:
        counts = {"pass": len(names)}
        for test in document["tests"]:
            word = test["deviations"].get(reader["name"])
            if word:
                counts["pass"] -= 1
                counts[word] = counts.get(word, 0) + 1
        need({word: count for word, count in counts.items() if count} == reader["summary"],
             f"the verdicts of {reader['title']} do not add up")
        need(set(counts) <= set(VERDICTS), f"{reader['title']} has an unknown verdict")
    ours = document["readers"][0]
    need(ours["name"] == "keysharing" and set(ours["summary"]) == {"pass"}, "this package does not pass every test")
