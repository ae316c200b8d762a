"""Finds turns of phrase in our texts that a reader stumbles over, and names the words to write instead.

Text is the prose of Markdown, the comments of every language, the names of tests, and the strings of three words or
more in Swift and JavaScript sources and in Python scripts. Code, and words in backticks, are not text.
"""

import io
import re
import tokenize
from dataclasses import dataclass
from pathlib import Path

from toolbox.build import PACKAGE


@dataclass(frozen=True)
class Construct:
    """A turn of phrase. A `rejected` one is never right in our texts; the others are only counted."""
    name: str
    pattern: re.Pattern
    instead: str
    rejected: bool


def construct(name, pattern, instead, rejected=False):
    return Construct(name, re.compile(pattern.replace(" ", r"\s+"), re.IGNORECASE), instead, rejected)


SENTENCE = r"(?:\A|(?<=[.!?:|]\s))\s*"
UNIT = r"(?:\d|an? |the |one |two |three |about |at |less |more |longer |up |as |no |hours|minutes|seconds|some |place\b|part\b" \
       r"|effect\b|precedence\b|over\b|care\b|time\b|turns\b|long\b|its turn|milliseconds|most\b|half\b|twice\b|ms\b|µs\b)"
CONSTRUCTS = [
    construct("of which", r"\bof which\b", "a second sentence that names the noun", True),
    construct("of whom", r"\bof whom\b", "a second sentence that names the noun", True),
    construct("whom", r"(?<!of\s)\bwhom\b", "the noun (the peer, the caller)", True),
    construct("whoever", r"\bwhoever\b", "the noun (a client, the caller)", True),
    construct("nobody", r"\bnobody(?:['’]s)?\b", "“no process”, “no one else”, or the passive", True),
    construct("somebody", r"\b(?:somebody|someone)(?:['’]s)?\b", "the noun (a client, a user, the caller)", True),
    construct("anew", r"\banew\b", "“again”, “from scratch”; for files “regenerate”", True),
    construct("once more", r"\bonce more\b", "“again”", True),
    construct("a second time", r"\ba second time\b", "“again”, “twice”", True),
    construct("besides", r"\bbesides\b", "“also”, “in addition to”", True),
    construct("at hand", r"\bat hand\b", "“available”, “present”", True),
    construct("for want of", r"\bfor want of\b", "“because … is missing”", True),
    construct("makings", r"\bmakings\b", "“exports”, “jobs”", True),
    construct("mails", r"(?<!e-)\bmails\b", "“messages”; mail is uncountable", True),
    construct("goes on", r"\b(?:goes|go|went|going) on\b", "“continues”", True),
    construct("is told", r"\b(?:is|are|was|were|be|been|being) told\b", "“receives”, “is notified”, or the active voice"),
    construct("what is wrong with it", r"\bwhat (?:is|was) wrong\b|\bwhat came of it\b", "“the defect”, “the outcome”", True),
    construct("so long as", r"\bso long as\b", "“while”, “as long as”"),
    construct("tells", r"\btells?\b|(?<!\bis\s)(?<!\bare\s)(?<!\bwas\s)(?<!\bbe\s)(?<!\bbeen\s)(?<!\bwere\s)\btold\b",
              "“reports”, “prints”, “returns”, “shows”"),
    construct("stands", r"\b(?:stands?|stood|standing) (?:in|behind|for|beside|at|on|under|by|before|after|there|apart|with)\b",
              "“is in”, “follows”, “represents”"),
    construct("what as subject", SENTENCE + r"What\b(?![^.!?|]*\?)", "the noun as the subject"),
    construct("where there is", r"\bwhere (?:it|there|none|nothing|one|he|they) (?:is|are|has|have|was|does)\b|\bwhere there\b",
              "“if …”, “if any”"),
    construct("behind", r"\bbehind\b", "“after” for time and order"),
    construct("alone", r"\balone\b", "“only”"),
    construct("comes back", r"\b(?:comes?|came|coming) (?:back|to it)\b", "“returns”"),
    construct("hands over", r"\b(?:hand|hands|handed|handing)\s+(?:over|out|on)\b|\bhand(?:s|ed)? (?:it|them|him) (?:over|out)\b",
              "“transfers”, “returns”, “passes”"),
    construct("takes", r"\btakes\b(?! " + UNIT + r")", "“accepts”, “requires”, “uses”"),
    construct("which it is", r"\b(?:which|what|whose|who) (?:it|this|that|they) (?:is|are|was)\b(?! not\b)", "the noun"),
    construct("does without", r"\b(?:do|does|did|doing) without\b", "“does not need”, “runs without”"),
    construct("beside", r"\bbeside\b", "“next to”, “with”, “in parallel with”"),
    construct("anybody", r"\b(?:anybody|everybody)(?:['’]s)?\b", "“any client”, “every user”"),
    construct("who asks", r"\bwho asks?\b|\bthe honest\b|\bstrangers?\b|\bleavers?\b", "“the client”, “other users”, “abandoned connections”"),
    construct("at fault", r"\bat fault\b|\bfaulty\b", "“defective”, or name the defect"),
    construct("what comes of", r"\bcomes? to\b(?! (?:a|an|the) (?:end|stop)\b)|\bcame of\b|\bcomes? of\b", "“is”, “results from”"),
    construct("is asked for", r"\b(?:is|are|was|were) asked for\b", "“is requested”"),
    construct("is none", r"(?<!there\s)(?-i:\b(?:of|by|with|in|has|have|had|is|are|was) none\b)", "“no …”, with the noun"),
    construct("lies", r"\b(?:lies|lie) (?:in|below|beside|under|outside|at|on|before|there|anywhere|elsewhere)\b", "“is”"),
    construct("holds no", r"\b(?:holds?|held) (?:no|neither)\b", "“contains no”, “has no”"),
    construct("redirection", r"\bredirections?\b", "“redirect”"),
    construct("says", r"\bsays\b", "“contains”, “reports”, “shows”, “is documented in”"),
]

# Folders whose texts have not been rewritten yet. In them, rejected constructs are only counted. Keep this list empty.
NOT_YET_CLEAN = ()

# Generated, quoted or foreign text.
LEFT_OUT = ("LICENSE", "Fixtures/", "Tests/EndToEndTests/Golden/", "scripts/toolbox/english.py")
SWIFT = re.compile(
    r'(?P<long>#?"""[ \t]*\n.*?"""#?)|(?P<raw>#"[^\n]*?"#)'
    r'|(?P<string>"(?:\\\((?:[^()"\n]|"[^"\n]*"|\((?:[^()"\n]|"[^"\n]*"|\([^()\n]*\))*\))*\)|\\.|[^"\\\n])*")'
    r"|(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)", re.DOTALL)
CLIKE = re.compile(
    r'(?P<string>"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`)|(?P<line>(?<!:)//[^\n]*)|(?P<block>/\*.*?\*/)', re.DOTALL)
TEST_NAME = re.compile(r"@(?:Test|Suite)\(\s*\Z")


def without_code(text):
    """Blanks words in backticks, interpolations, and the targets of links, and keeps line breaks."""
    text = re.sub(r"`[^`\n]*`", "X", text)
    text = re.sub(r"\\\((?:[^()]|\([^()]*\))*\)", "X", text)
    return re.sub(r"\]\([^)\n]*\)", "]", text)


def is_sentence(text):
    return len(re.findall(r"[A-Za-z’']{2,}(?=[\s,.;:]|\Z)", text)) >= 3


def markdown(text):
    """The blocks of a page as (first line, text): paragraphs, list items, rows of tables. No code, no headings."""
    blocks, in_code = [], False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
            blocks.append((number, ""))
        elif in_code or line.startswith("#") or not line.strip() or re.match(r"[|\s:-]+$", line):
            blocks.append((number, ""))
        elif re.match(r"\s*(\||[*-] |\d+\. |<)", line) or not blocks or not blocks[-1][1] \
                or blocks[-1][1].startswith("|"):
            blocks.append((number, line.strip()))
        else:
            blocks[-1] = (blocks[-1][0], blocks[-1][1] + "\n" + line.strip())
    return [block for block in blocks if block[1]]


def joined(pieces):
    """Joins comments on successive lines to blocks; an empty comment line ends a block."""
    blocks, last = [], None
    for number, text in pieces:
        if not text.strip() or text.lstrip().startswith(("MARK:", "swift-tools-version", "#!")):
            last = None
        elif last == number - 1 and not re.match(r"\s*([*-] |\|)", text):
            blocks[-1] = (blocks[-1][0], blocks[-1][1] + "\n" + text)
            last = number
        else:
            blocks.append((number, text))
            last = number
    return blocks


def clike(text, pattern, strings):
    """Comments and, if `strings` accepts them, string literals of Swift, C and JavaScript."""
    comments, others, number, end = [], [], 1, 0
    for match in pattern.finditer(text):
        number += text.count("\n", end, match.start())
        end = match.start()
        kind, found = match.lastgroup, match.group()
        if kind == "line":
            comments.append((number, found.lstrip("/!").strip()))
        elif kind == "block":
            lines = found.strip("/").strip("*").split("\n")
            comments += [(number + index, line.strip().lstrip("*").strip()) for index, line in enumerate(lines)]
        elif strings(text[max(0, end - 40):end], found):
            lines = found.strip('#"`').split("\n")
            others += joined([(number + index, line.strip()) for index, line in enumerate(lines)])
    return joined(comments) + others


def python(text):
    comments, others = [], []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                comments.append((token.start[0], token.string.lstrip("#! ")))
            elif token.type == tokenize.STRING and is_sentence(token.string):
                lines = re.sub(r"\A[a-zA-Z]*(\"\"\"|'''|\"|')|(\"\"\"|'''|\"|')\Z", "", token.string).split("\n")
                others += joined([(token.start[0] + index, line.strip()) for index, line in enumerate(lines)])
    except (tokenize.TokenError, IndentationError):
        pass
    return joined(comments) + others


def shell(text):
    return joined([(number, match[1]) for number, line in enumerate(text.split("\n"), 1)
                   if (match := re.search(r"(?:^|\s)#(?!!)\s*(\S.*)?$", line)) and match[1]])


def blocks(path):
    """The blocks of text of a file, as (first line, text); none for a file that is not ours or holds no text."""
    if path.startswith(LEFT_OUT):
        return []
    suffix = Path(path).suffix
    if suffix not in (".md", ".swift", ".c", ".h", ".js", ".css", ".html", ".py", ".sh", ".txt", ".yaml", ".yml",
                      ".service", ".socket", ".in", ".sbatch", "") or not (PACKAGE / path).is_file():
        return []
    try:
        text = (PACKAGE / path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return []
    inside_sources = path.startswith("Sources/")
    if suffix == ".md":
        return markdown(text)
    if suffix == ".swift":
        return clike(text, SWIFT, lambda before, found:
                     bool(TEST_NAME.search(before)) or inside_sources and is_sentence(found))
    if suffix in (".c", ".h", ".js", ".css"):
        return clike(text, CLIKE, lambda before, found: suffix == ".js" and inside_sources and is_sentence(found))
    if suffix == ".html":
        return joined(list(enumerate((re.sub(r"<[^>]*>", " ", line).strip() for line in text.split("\n")), 1)))
    if suffix == ".txt":
        return joined([(number, line.strip()) for number, line in enumerate(text.split("\n"), 1)])
    if suffix == ".py" or text.startswith("#!") and "python" in text.split("\n", 1)[0]:
        return python(text)
    return shell(text) if suffix or text.startswith("#!") or "Containerfile" in path else []


def findings(path):
    """The constructs in a file, as (line, construct, words), and the number of its lines of text."""
    found, lines = [], 0
    for number, text in blocks(path):
        lines += text.count("\n") + 1
        plain = without_code(text)
        for each in CONSTRUCTS:
            for match in each.pattern.finditer(plain):
                words = " ".join(match.group().split())
                start = match.start() + len(match.group()) - len(match.group().lstrip())
                found.append((number + plain.count("\n", 0, start), each, words))
    return sorted(found, key=lambda one: one[0]), lines


def is_clean(path):
    return not path.startswith(NOT_YET_CLEAN)
