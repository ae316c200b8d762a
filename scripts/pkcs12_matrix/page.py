"""The pages of the matrix: Markdown for docs, and HTML."""
import html

from pkcs12_matrix.repair import READER_OPTIONS, REWRITES
from toolbox.report import need

HEAD = """# Writers and readers of PKCS #12

This page shows which programs open PKCS #12 files that other programs wrote, and how to repair a file that a program
does not open.

`scripts/scoreboard matrix` generates this page and [pkcs12-matrix.json](pkcs12-matrix.json); do not edit them. It
writes the same RSA key and the same EC key with each program, and reads each file with each program. A file counts as
opened only if the reader returns the private key and the certificate that were written. The script compares SHA-256
digests of the public key and of the certificate. Every file is protected by an ASCII password.
"""
STYLE = """:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 90rem; padding: 0 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; }
td, th { border: 1px solid #888; padding: .2rem .5rem; text-align: left; vertical-align: top; }
td.opens { background: #d5f0d5; color: #123b12; }
td.fails { background: #f8d0d0; color: #5c1010; }
td.fails a { color: inherit; }
pre { overflow-x: auto; }
"""


class Reasons:
    """The failed cells with the same reader, message, diagnosis and repair, numbered in the order of the cells."""

    def __init__(self, document):
        self.titles = {reader["name"]: reader["title"] for reader in document["readers"]}
        self.numbers, self.cells = {}, {}
        for cell in document["cells"]:
            if cell["outcome"] != "opens":
                number = self.numbers.setdefault(self.key(cell), len(self.numbers) + 1)
                self.cells.setdefault(number, []).append(cell)

    @staticmethod
    def key(cell):
        return (cell["reader"], cell["outcome"], cell["message"], tuple(cell["diagnosis"]), cell["source"], cell["repair"])

    def number(self, cell):
        return self.numbers[self.key(cell)]

    def rows(self, commands):
        """A row for each reason: number, reader, message, diagnosis, repair and number of files."""
        for number, cells in self.cells.items():
            cell = cells[0]
            message = cell["message"] if cell["outcome"] == "fails" else f"{cell['outcome']}: {cell['message']}"
            repair = commands.index(cell["repair"]) + 1 if cell["repair"] else None
            yield number, self.titles[cell["reader"]], message, ". ".join(cell["diagnosis"]) + ".", repair, len(cells)


def commands(document):
    """The repairs that the cells name, in order."""
    used = {cell.get("repair") for cell in document["cells"]}
    everything = [command for _, command in READER_OPTIONS.values()] + list(REWRITES.values())
    return [command for command in everything if command in used]


def summary(document):
    """The figures of a run in one sentence."""
    cells = document["cells"]
    failed = [cell for cell in cells if cell["outcome"] != "opens"]
    repaired = [cell for cell in failed if cell["repair"]]
    return (f"{len(document['programs'])} programs, {len(document['files'])} files, {len(cells)} readings: "
            f"{len(cells) - len(failed)} open the file, {len(failed)} do not. A command repairs {len(repaired)} of the "
            f"{len(failed)}.")


def totals(document):
    """For each writer and setting, the number of readings that open its files, and of all."""
    found = {}
    files = {file["name"]: file for file in document["files"]}
    for cell in document["cells"]:
        file = files[cell["file"]]
        opened, count = found.get((file["writer"], file["setting"]), (0, 0))
        found[file["writer"], file["setting"]] = (opened + (cell["outcome"] == "opens"), count + 1)
    return found


def row(*cells):
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def table(titles, rows):
    return [row(*titles), "|" + "---|" * len(titles), *[row(*cells) for cells in rows], ""]


def grid(document):
    """For each file its writer, setting, key and protection, and its cells in the order of the readers."""
    titles = {program["name"]: program["title"] for program in document["programs"]}
    cells = {(cell["file"], cell["reader"]): cell for cell in document["cells"]}
    for file in document["files"]:
        yield ([titles[file["writer"]], file["setting"], document["keys"][file["key"]]],
               [cells[file["name"], reader["name"]] for reader in document["readers"]])


def markdown(document):
    """The page in Markdown."""
    reasons, repairs = Reasons(document), commands(document)
    titles = {program["name"]: program["title"] for program in document["programs"]}
    lines = [HEAD, summary(document), "", "## Programs", ""]
    lines += table(["program", "version", "from"], [
        [program["title"], program["version"], program["source"]] for program in document["programs"]])
    lines += ["Not measured:", ""]
    lines += [f"* {absent['title']}: {absent['reason']}." for absent in document["absent"]]
    lines += ["", "## Settings", "",
              "The last column is the number of readings that open the files of this setting, and of all readings.", ""]
    shares = totals(document)
    protections = {(file["writer"], file["setting"]): "; ".join(file["encryption"]) + "; " + file["mac"]
                   for file in document["files"]}
    lines += table(["program", "setting", "written with", "protection", "opened"], [
        [program["title"], setting, f"`{text}`", protections[program["name"], setting],
         "{} of {}".format(*shares[program["name"], setting])]
        for program in document["programs"] for setting, text in program["settings"].items()
        if (program["name"], setting) in shares])
    for refusal in document["refusals"]:
        lines += [f"{titles[refusal['writer']]} does not write {document['keys'][refusal['key']]} "
                  f"({refusal['setting']}): {refusal['message']}.", ""]
    lines += ["## Cells", "", "A **no** is followed by the number of its [reason](#reasons).", ""]
    lines += table(["writer", "setting", "key"] + [reader["title"] for reader in document["readers"]], [
        [*start, *["yes" if cell["outcome"] == "opens" else f"**no** {reasons.number(cell)}" for cell in cells]]
        for start, cells in grid(document)])
    lines += ["## Reasons", "",
              "The message is that of the reader. If `inspect --readers` has a model of the reader, the diagnosis is that of",
              "the model. Otherwise it lists the features of the file that no opened file has. The column *repair* contains the",
              "number of a [repair](#repairs), and the column *files* the number of files with this reason.",
              ""]
    lines += table(["no.", "reader", "message", "diagnosis", "repair", "files"], [
        [number, reader, f"`{message}`", cause, repair or "none found", count]
        for number, reader, message, cause, repair, count in reasons.rows(repairs)])
    lines += ["## Repairs", "",
              "The script ran each command on the file, and the reader then opened the result. `FILE`, `PASSWORD` and",
              "`REPAIRED` are paths; the first line of the file `PASSWORD` is the password. A command that writes",
              "`REPAIRED` drops the friendly name.", ""]
    for number, command in enumerate(repairs, start=1):
        lines += [f"{number}.", "", "   ```", *["   " + part for part in folded(command)], "   ```", ""]
    return "\n".join(lines).rstrip() + "\n"


def folded(command):
    """A command in lines, broken after the pipe."""
    parts = command.split(") | ")
    return [part + ") | \\" for part in parts[:-1]] + [parts[-1]]


def html_page(document):
    """The page in HTML, without references to other files."""
    reasons, repairs, quoted = Reasons(document), commands(document), html.escape
    titles = [reader["title"] for reader in document["readers"]]
    head = "".join(f"<th scope=col>{quoted(title)}</th>" for title in ["writer", "setting", "key", *titles])
    body = []
    for start, cells in grid(document):
        line = "".join(f"<td>{quoted(text)}</td>" for text in start)
        for cell in cells:
            if cell["outcome"] == "opens":
                line += "<td class=opens>yes</td>"
            else:
                number = reasons.number(cell)
                line += (f'<td class=fails><a href="#reason-{number}" title="{quoted(cell["message"])}">'
                         f"no {number}</a></td>")
        body.append(f"<tr>{line}</tr>")
    causes = []
    for number, reader, message, cause, repair, count in reasons.rows(repairs):
        link = f'<a href="#repair-{repair}">{repair}</a>' if repair else "none found"
        causes.append(f"<tr id=reason-{number}><td>{number}</td><td>{quoted(reader)}</td>"
                      f"<td><code>{quoted(message)}</code></td><td>{quoted(cause)}</td><td>{link}</td><td>{count}</td></tr>")
    fixes = [f"<li id=repair-{number}><pre>{quoted(chr(10).join(folded(command)))}</pre></li>"
             for number, command in enumerate(repairs, start=1)]
    versions = "".join(f"<li>{quoted(program['title'])} {quoted(program['version'])}</li>"
                       for program in document["programs"])
    return "\n".join([
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Writers and readers of PKCS #12</title><style>{STYLE}</style></head><body>",
        f"<h1>Writers and readers of PKCS #12</h1><p>{quoted(summary(document))}</p>",
        f"<h2>Programs</h2><ul>{versions}</ul>",
        f"<h2>Cells</h2><div class=wide><table><tr>{head}</tr>", *body, "</table></div>",
        "<h2>Reasons</h2><div class=wide><table><tr><th>no.</th><th>reader</th><th>message</th><th>diagnosis</th>"
        "<th>repair</th><th>files</th></tr>", *causes, "</table></div>",
        "<h2>Repairs</h2><p>Each command was run, and the reader opened the result.</p><ol>", *fixes,
        "</ol></body></html>"]) + "\n"


def check(document):
    """Raises `Missed` unless the document is complete: a cell for each file and reader, with a reason if it failed."""
    pairs = [(cell["file"], cell["reader"]) for cell in document["cells"]]
    wanted = [(file["name"], reader["name"]) for reader in document["readers"] for file in document["files"]]
    need(sorted(pairs) == sorted(wanted), "the cells are not those of the files and readers")
    need(len(pairs) >= 100, f"only {len(pairs)} cells")
    need(len({file["writer"] for file in document["files"]}) >= 8, "fewer than 8 writers")
    need({file["key"] for file in document["files"]} == set(document["keys"]), "not every key is written")
    for cell in document["cells"]:
        if cell["outcome"] != "opens":
            where = f"{cell['file']} read by {cell['reader']}"
            need(cell["message"] and cell["diagnosis"], f"{where} has no reason")
            need(cell["repair"] is None or cell["repair"] in commands(document), f"{where} has an unknown repair")
