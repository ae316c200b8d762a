"""The package's documents, and their paths after installation."""
import os
import pathlib
import re

from toolbox.build import PACKAGE
from toolbox.report import need

# Where a document is installed, below share/doc/keyshare. Other files of docs/ keep their path below docs/.
PLACES = {
    "README.md": "README.md", "SECURITY.md": "SECURITY.md", "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md.gz", "LICENSE": "copyright", "docs/README.md": "index.md",
    "Sources/KeyShareWire/KeyShareWire.docc/Protocol.md": "Protocol.md",
    "packaging/Containerfile": "examples/Containerfile",
}
# The target of a link, with its fragment; links inside of code are not links.
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")


def places():
    """The installed path of each document, picture and example, by its path in the repository."""
    found = dict(PLACES)
    for folder, prefix in [("docs", ""), ("packaging/examples", "examples/")]:
        for path in sorted((PACKAGE / folder).rglob("*")):
            name = path.relative_to(PACKAGE).as_posix()
            if path.is_file() and path.suffix != ".pyc":
                found.setdefault(name, prefix + path.relative_to(PACKAGE / folder).as_posix())
    twice = len(found) - len(set(found.values()))
    need(twice == 0, f"{twice} documents have the same installed path")
    return found


def rewritten(name, found):
    """The text of a page with its relative links changed to the installed paths. Fails for a link to a file that is
    not installed."""
    here = pathlib.PurePosixPath(found[name]).parent

    def link(match):
        before, target, fragment, after = match.groups()
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        path = os.path.normpath(os.path.join(os.path.dirname(name), target))
        if (PACKAGE / path).is_dir():
            inside = next((found[one] for one in sorted(found) if one.startswith(path + "/")), None)
            need(inside, f"{name} links to the folder {target}, which is not installed")
            place = os.path.dirname(inside)
        else:
            need(path in found, f"{name} links to {target}, which is not installed")
            place = found[path]
        return f"{before}{os.path.relpath(place, here)}{fragment or ''}{after}"

    return LINK.sub(link, (PACKAGE / name).read_text(encoding="utf-8"))
