internal import SecretMemory
internal import KeySharing
internal import OpenSSL
internal import ZipBundles

/// Test vectors that are defective, hostile or unusual archives.
enum ArchiveDefects {
    /// All test vectors of this kind.
    static let all: [TestVector] = [
        archive(
            "empty-zip", "The archive is empty.", "reports that the file contains nothing to import",
            .refused(9), []),
        TestVector(
            "zip-broken-entry", "The second of three entries is not a PKCS #12 file.",
            "imports the other two and reports the defective entry",
            .init(importing: 5, identities: 2, verifying: 0)
        ) { context in
            .file(
                try context.archive([
                    ("first.p12", try context.file(try context.identity())),
                    ("second.p12", Array("no key store".utf8)),
                    ("third.p12", try context.file(try context.identity(.encryption, part: "third"))),
                ]))
        },
        TestVector(
            "zip-other-password", "The second entry is encrypted with another password.",
            "imports the first and reports that the password of the second is wrong",
            .init(importing: 3, identities: 1, verifying: 0)
        ) { context in
            .file(
                try context.archive([
                    ("first.p12", try context.file(try context.identity())),
                    (
                        "second.p12",
                        try context.file(
                            try context.identity(.encryption, part: "second"),
                            password: SecretBytes(utf8: "another"))
                    ),
                ]))
        },
        named("zip-slip", "../../ab.p12", "An entry's name leads outside the folder."),
        named("zip-absolute-name", "/etc/abc.p12", "An entry's name is an absolute path."),
        named("zip-backslash-name", "..\\..\\ab.p12", "An entry's name is a path with backslashes."),
        named("zip-drive-name", "C:abcdef.p12", "An entry's name starts with a drive."),
        named("zip-nul-name", "abcd\u{0}efg.p12", "An entry's name contains a zero byte."),
        named("zip-control-name", "ab\u{1B}[2Jcd.p12", "An entry's name would clear a terminal's screen."),
        repeated("zip-duplicate-name", "good.p12", "Two entries have the same name."),
        repeated("zip-case-duplicate", "GOOD.p12", "Two entries have names that differ only in letter case."),
        patched(
            "zip-lying-size", "The headers announce ten bytes, but the entry has more.",
            "counts the bytes that it reads, and rejects the entry", .refused(5)
        ) { $0.patch(local: 22, central: 24, 10) },
        patched(
            "zip-encrypted", "The headers mark the entry as encrypted.", "rejects the entry", .refused(10)
        ) { $0.patch(local: 6, central: 8, 0x0801, size: 2) },
        patched("zip-symlink", "The entry is a symbolic link.", "rejects the entry", .refused(10)) {
            $0.patch(central: 4, 0x0300, size: 2)
            $0.patch(central: 38, 0xA1FF_0000)
        },
        patched(
            "zip-wrong-checksum", "The entry's checksum is wrong.", "rejects the entry", .refused(5)
        ) { $0.patch(local: 14, central: 16, 0x0403_0201) },
        TestVector(
            "zip-bomb", "The entry expands to a thousand times its compressed size.",
            "counts the bytes that it reads, and rejects the entry long before its end", .refused(10)
        ) { context in
            // The maximum compression ratio is 1,032 to 1, and only zeros come close to it.
            let zeros = [UInt8](repeating: 0, count: 1 << 20)
            let archive = try MalformedArchive(
                [("only.p12", zeros)], modified: context.date, isCompressed: true)
            return .file(archive.bytes)
        },
        TestVector(
            "zip-overlap", "An entry is inside the data of another.", "rejects the archive",
            .refused(10)
        ) { context in
            let inner = MalformedArchive(
                bytes: try context.archive([("inner.p12", try context.file(try context.identity()))]))
            var outer = MalformedArchive(bytes: try context.archive([("outer.p12", inner.bytes)]))
            try outer.listEntries(of: inner)
            return .file(outer.bytes)
        },
        patched(
            "zip-truncated", "The archive ends before its directory.", "reports it as malformed", .refused(5)
        ) {
            $0.bytes.removeLast(60)
        },
    ]

    private static func archive(
        _ name: String, _ summary: String, _ expectedBehaviour: String, _ expectation: TestVector.Expectation,
        _ entries: [(name: String, bytes: [UInt8])]
    ) -> TestVector {
        TestVector(name, summary, expectedBehaviour, expectation) {
            .file(try $0.archive(entries))
        }
    }

    /// Creates a test vector with an archive whose two valid entries have the same name. The sample provider writes
    /// such an archive if two authorities issued certificates of one type with the same serial number.
    private static func repeated(_ name: String, _ entry: String, _ summary: String) -> TestVector {
        named(
            name, entry, summary,
            "imports both entries, because it writes no file under an entry's name, or rejects the archive",
            .accepted(2)
        ).acceptedOrRefused()
    }

    /// Creates a test vector with an archive of a valid entry and an entry whose name is changed after the archive is
    /// written.
    private static func named(
        _ name: String, _ entry: String, _ summary: String,
        _ expectedBehaviour: String = "rejects the archive and writes no file",
        _ expectation: TestVector.Expectation = .refused(10)
    ) -> TestVector {
        TestVector(name, summary, expectedBehaviour, expectation) { context in
            let stand = String(repeating: "x", count: entry.utf8.count - 4) + ".p12"
            var patch = MalformedArchive(
                bytes: try context.archive([
                    ("good.p12", try context.file(try context.identity())),
                    (stand, try context.file(try context.identity(.encryption, part: "second"))),
                ]))
            patch.rename(stand, entry)
            return .file(patch.bytes)
        }
    }

    /// Creates a test vector with an archive of one entry, whose headers or data are changed after the archive is
    /// written.
    private static func patched(
        _ name: String, _ summary: String, _ expectedBehaviour: String, _ expectation: TestVector.Expectation,
        _ edit: @escaping @Sendable (inout MalformedArchive) -> Void
    ) -> TestVector {
        TestVector(name, summary, expectedBehaviour, expectation) { context in
            var patch = MalformedArchive(
                bytes: try context.archive([("only.p12", try context.file(try context.identity()))]))
            edit(&patch)
            return .file(patch.bytes)
        }
    }
}
