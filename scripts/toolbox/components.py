"""The components of the package: the Swift packages and runtimes that are linked into it, their licenses, and the bill
of materials."""
import hashlib
import json
import pathlib
import re
import subprocess
import textwrap

from toolbox import changelog
from toolbox.process import output
from toolbox.report import need

APACHE = "/usr/share/common-licenses/Apache-2.0"
GPL = "/usr/share/common-licenses/GPL-3"


class Component:
    """A Swift package that is linked into the executable."""

    def __init__(self, dependency, folder):
        checkout = dependency["state"]["checkoutState"]
        self.name = dependency["packageRef"]["identity"]
        self.location = dependency["packageRef"]["location"].removesuffix(".git")
        self.revision = checkout["revision"]
        self.version = checkout.get("version", self.revision)
        self.folder = folder

    def license_files(self):
        files = [path for path in sorted(self.folder.iterdir())
                 if re.fullmatch(r"(LICENSE|NOTICE)(\.txt|\.md)?", path.name)]
        need(files, f"{self.name} has no license in {self.folder}")
        return files

    def license_text(self):
        return self.license_files()[0].read_text(encoding="utf-8").strip()

    @property
    def license(self):
        """The SPDX identifier of the license."""
        text = self.license_text()
        if "Apache License" in text:
            return "Apache-2.0"
        return "MIT" if "Permission is hereby granted" in text else "NOASSERTION"

    def copyrights(self):
        """The lines of the license and the notice that name the holders."""
        lines = re.findall(r"^[ \t]*Copyright (?:\(c\)|©|\d{4}).*$",
                           "\n".join(path.read_text(encoding="utf-8") for path in self.license_files()),
                           re.MULTILINE | re.IGNORECASE)
        return [line.strip() for line in dict.fromkeys(lines)] or [f"the authors of {self.name}"]

    def digest(self):
        """The SHA-256 of the archive that `git archive` makes of the revision."""
        made = subprocess.run(["git", "-C", self.folder, "archive", "--format=tar", self.revision],
                              capture_output=True)
        need(made.returncode == 0, f"no archive of {self.name}: {made.stderr.decode(errors='replace').strip()}")
        return hashlib.sha256(made.stdout).hexdigest()


class Components:
    """The packages and runtimes that are linked into the executable and the PKCS #11 module."""

    def __init__(self, products):
        listed = (products / "keyshare.product/Objects.LinkFileList").read_text(encoding="utf-8")
        modules = set(re.findall(r"/([^/]+)\.build/", listed))
        scratch = products.parents[1]
        state = json.loads((scratch / "workspace-state.json").read_text(encoding="utf-8"))
        self.packages = []
        for dependency in state["object"]["dependencies"]:
            folder = scratch / "checkouts" / dependency["subpath"]
            sources = {path.name for path in [*folder.glob("Sources/*"), *folder.glob("*")] if path.is_dir()}
            if sources & modules:
                self.packages.append(Component(dependency, folder))
        self.packages.sort(key=lambda package: package.name)
        need(self.packages, "no package is linked into the executable; the format of its list of objects has changed")
        self.swift = re.search(r"Swift version (\S+)", output("swift", "--version", stderr=subprocess.DEVNULL))[1]
        # The compiler uses the newest installed version.
        archives = pathlib.Path("/usr/lib/gcc").glob("*/*/libstdc++.a")
        self.gcc = max((archive.parent.name for archive in archives),
                       key=lambda name: [int(part) for part in name.split(".")], default=None)
        need(self.gcc, "libstdc++.a is missing, which is linked into the PKCS #11 module; install libstdc++-12-dev")

    def copyright(self):
        """The copyright file, in the format of DEP-5."""
        linked = "".join(f" {package.name} {package.version}: {package.location} ({package.license})\n"
                         for package in self.packages)
        holders = "".join(f" {line}, for {package.name}\n" for package in self.packages for line in package.copyrights())
        others = [package for package in self.packages if package.license != "Apache-2.0"]
        names = " and ".join(dict.fromkeys(["Apache-2.0", "Apache-2.0-with-Swift-exception", "Unicode-3.0",
                                            "GPL-3+-with-GCC-exception-3.1",
                                            *[f"{package.license}-{package.name}" for package in others]]))
        parts = [
            "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: KeySharing\n",
            "Files: *\nCopyright: the authors of KeySharing\nLicense: Apache-2.0\n",
            "Files: usr/lib/keyshare/keyshare usr/lib/*/pkcs11/libkeyshare-pkcs11.so\n"
            "Copyright: the authors of KeySharing\n"
            f" Apple Inc. and the Swift project authors, for Swift {self.swift} and Foundation\n"
            " Unicode, Inc., for ICU\n"
            f" the Free Software Foundation, Inc., for libstdc++ and libgcc of GCC {self.gcc}\n"
            f"{holders}License: {names}\n"
            "Comment: The executable contains the runtime of Swift, Foundation, ICU and these packages:\n"
            f"{linked} The PKCS #11 module contains the runtime of Swift, and parts of libstdc++ and libgcc.\n",
            f"License: Apache-2.0\n On Debian systems, the text is in {APACHE}.\n",
            "License: Apache-2.0-with-Swift-exception\n"
            f" The Apache License 2.0 ({APACHE})\n with the Runtime Library Exception (https://swift.org/LICENSE.txt).\n",
            "License: Unicode-3.0\n See https://www.unicode.org/license.txt.\n",
            "License: GPL-3+-with-GCC-exception-3.1\n"
            f" The GNU General Public License, version 3 or later ({GPL}),\n"
            " with the GCC Runtime Library Exception 3.1, which permits programs of any\n license to contain the runtime.\n",
        ]
        for package in others:
            parts.append(f"License: {package.license}-{package.name}\n{indented(package.license_text())}\n")
        return "\n".join(parts)

    def bill_of_materials(self, version, files, libraries):
        """The SPDX 2.3 document: the package's files with their bytes, by path; what is linked into them; and the Debian
        packages that they need, with their versions."""
        digest = hashlib.sha256(b"".join(files.values())).hexdigest()
        root = entry("keyshare", version, "NOASSERTION", "Apache-2.0", "Package", f"pkg:generic/keyshare@{version}",
                     "Organization: KeySharing maintainers")
        root["comment"] = "SHA-256 of the files: " + ", ".join(
            f"{path} {hashlib.sha256(content).hexdigest()}" for path, content in sorted(files.items()))
        linked = []
        for package in self.packages:
            place = package.location.removeprefix("https://")
            one = entry(package.name, package.version, f"git+{package.location}@{package.revision}", package.license,
                        "Linked", f"pkg:swift/{place}@{package.version}",
                        f"Organization: {place.split('/')[1] if place.count('/') > 1 else package.name}")
            one["checksums"] = [{"algorithm": "SHA256", "checksumValue": package.digest()}]
            one["comment"] = "The checksum is that of `git archive --format=tar` of the revision."
            linked.append(one)
        linked.append(entry("swift", self.swift, "https://swift.org", "Apache-2.0 WITH Swift-exception", "Linked",
                            f"pkg:github/swiftlang/swift@swift-{self.swift}-RELEASE", "Organization: Apple Inc."))
        linked.append(entry("gcc-runtime", self.gcc, "https://gcc.gnu.org", "GPL-3.0-or-later WITH GCC-exception-3.1",
                            "Linked", f"pkg:generic/gcc@{self.gcc}", "Organization: Free Software Foundation"))
        needed = [library(name, held) for name, held in libraries]
        document = {
            "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"keyshare-{version}",
            "documentNamespace": f"https://spdx.org/spdxdocs/keyshare-{version}-{digest[:16]}",
            "creationInfo": {"created": changelog.time(), "creators": ["Tool: scripts/package"]},
            "packages": [root, *linked, *needed],
            "relationships": [relationship("SPDXRef-DOCUMENT", "DESCRIBES", root),
                              *[relationship(root["SPDXID"], "STATIC_LINK", one) for one in linked],
                              *[relationship(root["SPDXID"], "DEPENDS_ON", one) for one in needed]],
        }
        return json.dumps(document, indent=2) + "\n"


def indented(text):
    """A license as a field of DEP-5: each line begins with a space, and an empty line is a full stop."""
    return textwrap.indent(text, " ", lambda line: True).replace("\n \n", "\n .\n")


def entry(name, version, location, license, relation, purl, supplier):
    """A package of the bill of materials."""
    return {"SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", f"{relation}-{name}"), "name": name,
            "versionInfo": version, "supplier": supplier, "downloadLocation": location, "filesAnalyzed": False,
            "licenseConcluded": license, "licenseDeclared": license, "copyrightText": "NOASSERTION",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": purl}]}


def library(name, version):
    """A Debian package that the executable needs, with the digest of its file if apt knows it."""
    maintainer = output("dpkg-query", "--show", "--showformat=${Maintainer}", name)
    person = re.fullmatch(r"(.*?)\s*<(.*)>", maintainer.strip())
    architecture = output("dpkg", "--print-architecture").strip()
    made = entry(name, version, "NOASSERTION", "NOASSERTION", "Needed",
                 f"pkg:deb/debian/{name}@{version.replace('+', '%2B').replace(':', '%3A')}?arch={architecture}",
                 f"Organization: {person[1]} ({person[2]})" if person else "NOASSERTION")
    known = subprocess.run(["apt-cache", "show", f"{name}={version}"], capture_output=True, text=True).stdout
    digest = re.search(r"^SHA256: ([0-9a-f]{64})$", known, re.MULTILINE)
    if digest:
        made["checksums"] = [{"algorithm": "SHA256", "checksumValue": digest[1]}]
    return made


def relationship(one, kind, other):
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other["SPDXID"]}
