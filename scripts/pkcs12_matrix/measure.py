"""Measures the matrix: writes all files, reads each with each program, and finds the reasons and repairs of failures."""
import os
import pathlib
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from pkcs12_matrix import diagnosis, libraries, programs, repair
from pkcs12_matrix.files import KINDS, PASSWORD, File, Material
from toolbox import install, process
from toolbox.report import Missed

PROGRAMS = [
    programs.Ours, programs.OpenSSL, programs.GnuTLS, programs.NSS, libraries.JDK, libraries.BouncyCastle,
    libraries.WolfSSL, libraries.PyCA, libraries.Go, programs.Heimdal, programs.GnuPG,
]
# Candidates that have nothing to measure.
UNSUITABLE = [
    {"title": "Botan", "reason": "Botan 2.19 and 3 have no PKCS #12"},
    {"title": "mbedTLS",
     "reason": "mbedTLS 2.28 and 3 have only the key derivation of PKCS #12, and no reader or writer of its files"},
]


class Column:
    """A way to read files: a program with options, and its reader model."""

    def __init__(self, program, suffix, options, model):
        self.program, self.options, self.model = program, options, model
        self.name, self.title = program.name + suffix.replace(" ", ""), program.title + suffix

    def outcomes(self, files, pool, pyca):
        """The outcome and the message for each file, and the files that this column opens."""
        readings = self.program.read_all(files, self.options, pool)
        pyca.digests(readings)
        return [outcome(each, file.material.digests) for each, file in zip(readings, files)]


def outcome(reading, expected):
    """The outcome of a reading, and its message if it failed. A file is open only if the key and the certificate that
    were written come out."""
    if reading.failure:
        return reading.failure, reading.message
    key, certificate = expected
    lacks = []
    if not reading.key_digests:
        lacks.append("no private key")
    elif key not in reading.key_digests:
        lacks.append("another private key")
    if not reading.certificate_digests:
        lacks.append("no certificate")
    elif certificate not in reading.certificate_digests:
        lacks.append("another certificate")
    if lacks:
        printed = f"{reading.message}; " if reading.message else ""
        return "fails", printed + "reports success, and returns " + " and ".join(lacks)
    return "opens", None


class Measurement:
    """One run in a scratch folder."""

    def __init__(self, scratch, is_installing):
        self.scratch, self.is_installing = scratch, is_installing
        self.pool = ThreadPoolExecutor(os.cpu_count())
        self.programs, self.absent, self.files, self.refusals = [], [], [], []
        self.columns, self.cells = [], []
        self.pyca, self.rewrites = None, {}

    def close(self):
        self.pool.shutdown(cancel_futures=True)
        for program in self.programs:
            if hasattr(program, "close"):
                program.close()

    def note(self, text):
        print(text, file=sys.stderr, flush=True)

    def prepare(self):
        """Installs and starts the programs; one that cannot be had is left out."""
        for make in PROGRAMS:
            program = make(self.scratch)
            missing = missing_tools(make)
            if missing and self.is_installing:
                try:
                    install.tools(dict(missing))
                except SystemExit:
                    pass
                missing = missing_tools(make)
            try:
                if missing:
                    raise Missed(f"{missing[0][1]} is not installed")
                program.prepare()
                program.number = program.version()
            except Missed as reason:
                self.note(str(reason))
                text = str(reason) if missing else "it cannot be built or started"
                self.absent.append({"title": program.title, "reason": text})
                continue
            self.programs.append(program)
            self.columns += [Column(program, *column) for column in program.columns]
            if program.name == "pyca":
                self.pyca = program
        if self.pyca is None:
            raise Missed("pyca/cryptography computes the digests, and cannot be installed")

    def write(self):
        """Writes a file with each program, setting and key."""
        ours = self.programs[0]
        (self.scratch / "password").write_text(PASSWORD + "\n")
        for kind in KINDS:
            material = Material(kind, self.scratch)
            material.derive(ours.create(material))
            material.digests = self.digests_of(material)
            for program in self.programs:
                for setting in program.settings:
                    name = f"{program.name}-{setting}-{kind}"
                    file = File(name, self.scratch / f"{name}.p12", material)
                    file.program, file.setting = program, setting
                    try:
                        program.write(setting, material, file.path)
                        self.files.append(file)
                    except Missed as reason:
                        text = str(reason).splitlines()
                        self.refusals.append({
                            "writer": program.name, "setting": setting, "key": kind,
                            "message": text[1] if len(text) > 1 else text[0]})

        for file, report in zip(self.files, self.pool.map(diagnosis.inspect, self.files)):
            file.report = report

    def digests_of(self, material):
        """The digests of the key and of the certificate that every reader must return."""
        lines = f"key {material.key_der.read_bytes().hex()}\ncertificate {material.certificate_der.read_bytes().hex()}"
        printed = process.run(*self.pyca.command(), "digests", input=lines.encode()).stdout.decode().split()
        return tuple(printed)

    def read(self):
        """Reads each file with each program, and repairs what a program does not open."""
        for column in self.columns:
            results = column.outcomes(self.files, self.pool, self.pyca)
            opened = [file for file, (word, _) in zip(self.files, results) if word == "opens"]
            failed = [(file, *result) for file, result in zip(self.files, results) if result[0] != "opens"]
            repairs, more = self.repairs(column, [file for file, _, _ in failed])
            for file, (word, message) in zip(self.files, results):
                cell = {"file": file.name, "reader": column.name, "outcome": word}
                entry = diagnosis.model_entry(file, column.model) if column.model else None
                if entry:
                    cell["predicted"] = "opens" if entry["outcome"] in ("opens", "partly") else entry["outcome"]
                if word != "opens":
                    reasons, source = diagnosis.diagnosis(file, column.model, opened + more)
                    cell |= {"message": message, "diagnosis": reasons, "source": source, "repair": repairs[file.name]}
                self.cells.append(cell)
            self.note(f"{column.title} {column.program.number}: opens {len(opened)} of {len(self.files)} files")

    def repairs(self, column, files):
        """The command for each file that makes this reader open it, or nil; and the repaired files that it opened."""
        found, opened = dict.fromkeys(file.name for file in files), []
        if column.name in repair.READER_OPTIONS:
            options, command = repair.READER_OPTIONS[column.name]
            other = Column(column.program, "", options, None)
            for file, (word, _) in zip(files, other.outcomes(files, self.pool, self.pyca)):
                if word == "opens":
                    found[file.name] = command
        for name, command in repair.REWRITES.items():
            rest = [file for file in files if found[file.name] is None]
            made = list(self.pool.map(lambda file: self.rewritten(file, name), rest))
            pairs = [(file, new) for file, new in zip(rest, made) if new]
            results = column.outcomes([new for _, new in pairs], self.pool, self.pyca)
            for (file, new), (word, _) in zip(pairs, results):
                if word == "opens":
                    found[file.name] = command
                    opened.append(new)
        return found, opened

    def rewritten(self, file, name):
        """The file that a command makes of a file, or nil; each command runs once for a file."""
        key = (file.name, name)
        if key not in self.rewrites:
            new = self.rewrites[key] = repair.rewrite(file, name, self.scratch)
            if new:
                new.report = diagnosis.inspect(new)
        return self.rewrites[key]

    def document(self):
        """The result as JSON. It contains nothing that differs between two runs with the same programs."""
        return {
            "format": "keyshare-pkcs12-matrix", "version": 1,
            "programs": [
                {"name": program.name, "title": program.title, "version": program.number, "source": program.source,
                 "settings": program.settings} for program in self.programs],
            "absent": UNSUITABLE + self.absent,
            "keys": KINDS,
            "readers": [
                {"name": column.name, "title": column.title, "program": column.program.name, "model": column.model}
                for column in self.columns],
            "files": [
                {"name": file.name, "writer": file.program.name, "setting": file.setting, "key": file.material.kind,
                 "encryption": diagnosis.encryption(file.report), "mac": diagnosis.mac(file.report)}
                for file in self.files],
            "refusals": self.refusals,
            "cells": self.cells,
        }


def missing_tools(program):
    """The tools of a program that are not installed, with their Debian packages."""
    return [(tool, package) for tool, package in program.tools.items()
            if not (shutil.which(tool) or os.path.exists(tool))]


def measured(is_installing=True):
    """The document of a new run."""
    with tempfile.TemporaryDirectory(prefix="matrix-", dir="/tmp") as scratch:
        run = Measurement(pathlib.Path(scratch), is_installing)
        try:
            run.prepare()
            run.write()
            run.read()
        finally:
            run.close()
        return run.document()


def surprises(document):
    """The cells that differ from their reader model."""
    return [
        f"{cell['file']}: {cell['reader']} {cell['outcome']}, its model predicts {cell['predicted']}"
        for cell in document["cells"] if cell.get("predicted") in ("opens", "fails")
        and (cell["outcome"] == "opens") != (cell["predicted"] == "opens")]
