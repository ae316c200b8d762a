"""The version of the package and its date, from CHANGELOG.md and the commit."""
import datetime
import email.utils
import os
import re
import subprocess

from toolbox.build import PACKAGE
from toolbox.report import need

# A heading of a release: "## 0.2.0 - 2026-12-01"; the first version has no date.
HEADING = re.compile(r"^## (\d+\.\d+\.\d+)(?: - (\d{4}-\d{2}-\d{2}))?$", re.MULTILINE)


def text():
    return (PACKAGE / "CHANGELOG.md").read_text(encoding="utf-8")


def version():
    """The newest version that the changelog has a section of."""
    heading = HEADING.search(text())
    need(heading, "CHANGELOG.md has no heading of a version, such as \"## 1.2.3 - 2026-01-31\"")
    return heading[1]


def unreleased():
    """The section of unreleased changes; an empty text if there is no such section."""
    section = re.search(r"^## Unreleased\n(.*?)(?=^## |\Z)", text(), re.MULTILINE | re.DOTALL)
    return section[1].strip() if section else ""


def epoch():
    """The timestamp of all files built from this commit, in seconds: SOURCE_DATE_EPOCH, or else the commit's time."""
    named = os.environ.get("SOURCE_DATE_EPOCH")
    if named:
        need(named.isdigit(), "SOURCE_DATE_EPOCH is no number of seconds")
        return int(named)
    told = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=PACKAGE, capture_output=True, text=True)
    return int(told.stdout) if told.returncode == 0 else 0


def date():
    """The day of `epoch`, as 2026-01-31."""
    return datetime.datetime.fromtimestamp(epoch(), datetime.timezone.utc).strftime("%Y-%m-%d")


def time():
    """The moment of `epoch`, as 2026-01-31T12:00:00Z."""
    return datetime.datetime.fromtimestamp(epoch(), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def mail_date():
    """The moment of `epoch` as RFC 5322 writes it."""
    return email.utils.format_datetime(datetime.datetime.fromtimestamp(epoch(), datetime.timezone.utc))
