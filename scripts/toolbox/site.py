"""The site: the articles, the manual and the modules' documentation as one folder of static files."""
import html
import json
import os
import re
import shutil
import subprocess
import urllib.parse

from toolbox.build import PACKAGE
from toolbox.report import need

# The articles in the order of the menu: the path in the repository, and the path on the site.
ARTICLES = {
    "README.md": "index.html", "docs/README.md": "pages.html",
    **{f"docs/tutorials/{name}.md": f"tutorials/{name}.html" for name in [
        "first-import", "test-your-importer", "token-with-ssh"]},
    **{f"docs/{name}.md": f"{name}.html" for name in [
        "commands", "exit-codes", "rules", "limits", "provisioning", "scenarios", "pki", "mail", "token", "web",
        "conformance", "pkcs12-matrix", "validation", "packaging", "architecture", "glossary"]},
    "Sources/KeyShareWire/KeyShareWire.docc/Protocol.md": "protocol.html",
    "CONTRIBUTING.md": "contributing.html", "CHANGELOG.md": "changelog.html", "SECURITY.md": "security.html",
}
STYLE = """
:root { color-scheme: light dark; --line: #8884; --quiet: #888; }
body { margin: 0; font: 1rem/1.55 system-ui, sans-serif; display: grid; grid-template-columns: 15rem minmax(0, 1fr); }
nav { padding: 1rem; border-right: 1px solid var(--line); font-size: .9rem; min-height: 100vh; box-sizing: border-box; }
nav ul { list-style: none; padding: 0; } nav h2 { font-size: .8rem; text-transform: uppercase; color: var(--quiet); }
nav input { width: 100%; box-sizing: border-box; font: inherit; padding: .3rem; }
main { padding: 1rem 2rem 4rem; max-width: 60rem; }
pre { overflow-x: auto; padding: .8rem; border: 1px solid var(--line); border-radius: .3rem; }
code, pre { font-family: ui-monospace, monospace; font-size: .88em; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border: 1px solid var(--line); padding: .25rem .6rem; text-align: left; vertical-align: top; }
img { max-width: 100%; height: auto; }
table.head, table.foot { display: none; } .Nm, .Fl { font-weight: 600; }
@media (max-width: 50rem) { body { grid-template-columns: 1fr; } nav { min-height: 0; border: 0; } }
"""
SEARCH = """
const field = document.getElementById("search"), list = document.getElementById("found");
field.addEventListener("input", () => {
  const words = field.value.toLowerCase().split(/\\s+/).filter(word => word.length > 1);
  list.replaceChildren();
  if (!words.length) return;
  const rank = page => words.every(word => page.text.includes(word))
    ? words.filter(word => page.title.toLowerCase().includes(word)).length + 1 : 0;
  for (const page of pages.map(page => ({...page, rank: rank(page)})).filter(page => page.rank)
       .sort((left, right) => right.rank - left.rank).slice(0, 30)) {
    const link = document.createElement("a"), item = document.createElement("li");
    link.href = base + page.path; link.textContent = page.title;
    item.append(link); list.append(item);
  }
});
"""


def slug(text):
    """The anchor of a heading in GitHub's format."""
    plain = html.unescape(re.sub(r"<[^>]*>", "", text)).lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


class Site:
    """The pages of the site, which `write` puts into a folder together."""

    def __init__(self, folder):
        self.folder, self.pages, self.copied = folder, {}, {}

    def add_article(self, source):
        """Adds an article of the repository: Markdown as GitHub reads it."""
        done = subprocess.run(
            ["cmark-gfm", "-e", "table", "-e", "autolink", PACKAGE / source], stdout=subprocess.PIPE, text=True)
        need(done.returncode == 0, f"cmark-gfm cannot read {source}")
        title = re.search(r"<h1>(.*?)</h1>", done.stdout, re.DOTALL)
        need(title, f"{source} has no title")
        body = re.sub(r"<h([1-6])>(.*?)</h\1>",
                      lambda match: f'<h{match[1]} id="{slug(match[2])}">{match[2]}</h{match[1]}>', done.stdout,
                      flags=re.DOTALL)
        path = ARTICLES[source]
        body = re.sub(r'(<(?:a href|img src)=")([^"]*)(")',
                      lambda match: match[1] + self.link(match[2], source, path) + match[3], body)
        self.pages[path] = (re.sub(r"<[^>]*>|``", "", title[1]), body)

    def link(self, target, source, path):
        """A link of an article on the site: to the page of an article, or to a file or picture that is copied."""
        target = html.unescape(target)
        if re.match(r"[a-z]+:", target) or target.startswith("#"):
            return html.escape(target)
        name, _, anchor = target.partition("#")
        file = os.path.normpath(os.path.join(os.path.dirname(source), name))
        if file not in ARTICLES:
            need((PACKAGE / file).exists(), f"{source} links to {target}, which does not exist")
            self.copied[file] = self.add_folder(file) if (PACKAGE / file).is_dir() else f"files/{file}"
        place = ARTICLES.get(file) or self.copied[file]
        return html.escape(os.path.relpath(place, os.path.dirname(path) or ".") + (f"#{anchor}" if anchor else ""))

    def add_folder(self, folder):
        """Adds a page that lists the files of a folder, which are copied; returns the place of the page."""
        names = sorted(path.name for path in (PACKAGE / folder).iterdir() if path.is_file())
        for name in names:
            self.copied[f"{folder}/{name}"] = f"files/{folder}/{name}"
        items = "".join(f'<li><a href="{html.escape(name)}">{html.escape(name)}</a></li>' for name in names)
        place = f"files/{folder}/index.html"
        self.pages[place] = (folder, f"<h1>{folder}</h1>\n<ul>{items}</ul>")
        return place

    def add_manual(self, manual):
        """Adds every page of the manual."""
        for page in sorted(manual.iterdir()):
            done = subprocess.run(["mandoc", "-T", "html", "-O", "fragment,man=%N.html", page], stdout=subprocess.PIPE,
                                  text=True)
            need(done.returncode == 0, f"mandoc cannot read {page.name}")
            # A page's own heading does not name the command.
            body = f"<h1>{page.stem}</h1>\n{done.stdout}"
            body = re.sub(r"<b>(keyshare[a-z-]*)</b>\(([17])\)", r'<a href="\1.html">\1</a>(\2)', body)
            self.pages[f"manual/{page.stem}.html"] = (page.stem, body)

    def menu(self, base):
        """The menu, with links from a page `base` below which the site begins."""
        def items(paths):
            return "".join(f'<li><a href="{base}{path}">{self.pages[path][0]}</a></li>' for path in paths)
        commands = [f"manual/keyshare{name}.html" for name in ["", "-provider", "-consumer", "-device"]]
        tutorials = [path for path in self.pages if path.startswith("tutorials/")]
        articles = [path for path in self.pages if "/" not in path]
        return (f"<h2>Tutorials</h2><ul>{items(tutorials)}</ul><h2>Manual</h2><ul>{items(commands)}</ul>"
                f"<h2>Articles</h2><ul>{items(articles)}</ul>"
                # DocC's page requests the path in its address, which does not exist under index.html.
                f'<h2>Modules</h2><ul><li><a href="{base}api/documentation/">Swift modules</a></li></ul>')

    def write(self):
        """Writes every page, the style and the search."""
        index = [{"path": path, "title": html.unescape(title),
                  "text": " ".join(html.unescape(re.sub(r"<[^>]*>", " ", body)).lower().split())}
                 for path, (title, body) in self.pages.items()]
        self.put("search.js", f"const pages = {json.dumps(index, ensure_ascii=False)};\n{SEARCH}")
        self.put("style.css", STYLE)
        for path, (title, body) in self.pages.items():
            base = "../" * path.count("/")
            self.put(path, f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title} – KeySharing</title><link rel="stylesheet" href="{base}style.css"></head>
<body><nav><a href="{base}index.html"><strong>KeySharing</strong></a>
<p><input id="search" type="search" placeholder="Search" aria-label="Search"></p><ul id="found"></ul>
{self.menu(base)}</nav>
<main>{body}</main>
<script>const base = "{base}";</script><script src="{base}search.js"></script></body></html>
""")
        for file, place in self.copied.items():
            if place in self.pages:
                continue
            (self.folder / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(PACKAGE / file, self.folder / place)

    def put(self, path, text):
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def problems(self):
        """The links and pictures of every page that are missing from the site, and resources that a page would fetch from
        other hosts."""
        anchors = {path: set(re.findall(r'\bid="([^"]*)"', (self.folder / path).read_text(encoding="utf-8")))
                   for path in self.pages}
        for path in self.pages:
            text = (self.folder / path).read_text(encoding="utf-8")
            for target in map(html.unescape, re.findall(r'<(?:a [^>]*?href|img [^>]*?src)="([^"]*)"', text)):
                if re.match(r"(https?|mailto):", target):
                    continue
                name, _, anchor = target.partition("#")
                place = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(name))) if name else path
                if name.endswith("/"):
                    place += "/index.html"
                if not (self.folder / place).is_file():
                    yield f"{path} links to {target}, which does not exist"
                elif anchor and place in anchors and urllib.parse.unquote(anchor) not in anchors[place]:
                    yield f"{path} links to {target}, which has no such heading"
        for file in self.folder.rglob("*.html"):
            for outside in re.findall(r'<(?:script|link|img|iframe)[^>]*?(?:src|href)="((?:https?:)?//[^"]*)"',
                                      file.read_text(encoding="utf-8", errors="replace")):
                yield f"{file.relative_to(self.folder)} fetches {outside}"


def make(folder, archives, manual, docc):
    """Builds the site in an existing empty folder; returns the problems."""
    api = folder / "api"
    done = subprocess.run(
        [docc, "merge", *map(str, archives), "--output-path", str(api), "--synthesized-landing-page-name", "KeySharing"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    need(done.returncode == 0, f"docc merge fails: {done.stdout}")
    site = Site(folder)
    articles = {str(path.relative_to(PACKAGE)) for path in PACKAGE.glob("docs/**/*.md")}
    need(articles <= set(ARTICLES), "pages missing from the menu: " + ", ".join(sorted(articles - set(ARTICLES))))
    for article in ARTICLES:
        site.add_article(article)
    site.add_manual(manual)
    site.write()
    return list(site.problems())
