"""Pages of the manual in roff: escaped text, and articles converted from Markdown."""
import re
import subprocess
import textwrap
import xml.etree.ElementTree

from toolbox.build import PACKAGE
from toolbox.report import need


def roff(text):
    """Text in which all characters special to roff are escaped, and characters outside ASCII by number."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    text = text.replace("^", "\\(ha").replace("~", "\\(ti").replace('"', "\\(dq")
    text = "".join(letter if ord(letter) < 128 else f"\\[u{ord(letter):04X}]" for letter in text)
    return re.sub(r"^\.", r"\\&.", text, flags=re.MULTILINE)


def sentences(text):
    """The words of a paragraph in lines of the source, broken between words."""
    return roff("\n".join(textwrap.wrap(text, 72, break_long_words=False, break_on_hyphens=False)))


def bold(text):
    return f"\\fB{roff(text)}\\fR"


def italic(text):
    return f"\\fI{roff(text)}\\fR"


def literal(lines):
    """Lines that are not reflowed."""
    return [".PP", ".RS 4", ".nf", *(roff(line) for line in lines), ".fi", ".RE"]


def tagged(tag, text):
    return [".TP", tag, sentences(text)]


def converted(name):
    """An article of the repository, parsed by cmark-gfm, as lines of roff without the title."""
    run = subprocess.run(
        ["cmark-gfm", "-e", "table", "-e", "autolink", "-t", "xml", PACKAGE / name], capture_output=True, text=True)
    need(run.returncode == 0, f"cmark-gfm cannot read {name}")
    return Article(xml.etree.ElementTree.fromstring(run.stdout)).lines


class Article:
    """The blocks of a Markdown document as lines of roff. Tables become lists, because terminals are narrow: the
    first cell of a row is the tag, and the other cells follow with the heading of their column."""

    def __init__(self, document):
        self.lines = []
        for block in document:
            self.add(block)

    def add(self, block):
        kind = self.kind(block)
        if kind == "heading":
            if block.get("level") != "1":
                command = ".SH" if block.get("level") == "2" else ".SS"
                title = roff(self.plain(block))
                self.lines.append(f"{command} {title.upper() if command == '.SH' else title}")
        elif kind == "paragraph" and not self.words(block):
            return  # A paragraph of nothing but a picture.
        elif kind == "paragraph":
            if not self.lines or not self.lines[-1].startswith((".SH", ".SS", ".IP", ".TP")):
                self.lines.append(".PP")
            self.lines.append(self.words(block))
        elif kind == "code_block":
            self.lines += literal((block.text or "").splitlines())
        elif kind == "list":
            self.add_list(block)
        elif kind == "table":
            self.add_table(block)
        elif kind == "block_quote":
            for inner in block:
                self.add(inner)
        else:
            need(kind in ("thematic_break", "html_block"), f"an article has an unknown element {kind}")

    def add_list(self, block):
        for number, item in enumerate(block, int(block.get("start") or 1)):
            self.lines.append(f".IP {number}. 4" if block.get("type") == "ordered" else ".IP \\(bu 2")
            for inner in item:
                if self.kind(inner) == "list":
                    self.lines.append(".RS 4")
                    self.add(inner)
                    self.lines.append(".RE")
                else:
                    self.add(inner)

    def add_table(self, block):
        header, *rows = [[self.words(cell) for cell in row] for row in block]
        for tag, *cells in rows:
            self.lines += [".TP", tag or "\\(em"]
            filled = [(title, cell) for title, cell in zip(header[1:], cells) if cell]
            if len(header) == 2:
                self.lines += [cell for _, cell in filled] or ["\\(em"]
            else:
                described = [f"{title}: {cell}" for title, cell in filled] or ["\\(em"]
                self.lines += "\n.br\n".join(described).splitlines()

    def words(self, block):
        """The text of a block with its emphasis, on one line."""
        return self.fenced("".join(self.inline(part) for part in block))

    def inline(self, part):
        kind = self.kind(part)
        if kind in ("softbreak", "linebreak"):
            return " "
        if kind == "code":
            return bold(part.text or "")
        if kind == "emph":
            return f"\\fI{''.join(self.inline(inner) for inner in part)}\\fR"
        if kind == "strong":
            return f"\\fB{self.plain(part)}\\fR"
        if kind == "link":
            return "".join(self.inline(inner) for inner in part)
        if kind in ("image", "html_inline", "footnote_reference"):
            return ""
        return roff(part.text or "")

    def plain(self, block):
        return "".join("".join(inner.itertext()) if self.kind(inner) not in ("softbreak",) else " " for inner in block)

    @staticmethod
    def fenced(line):
        """A line that roff does not take for a request."""
        return f"\\&{line}" if line.startswith((".", "\\(aq")) else line

    @staticmethod
    def kind(element):
        return element.tag.partition("}")[2] or element.tag
