internal import Diagnostics

/// The name of an entry, checked against the rules of `ZipError.NameRule` (docs/rules.md R7.15).
enum EntryName: Equatable {
    /// The name of a file to read.
    case file(String)
    /// The name of an entry that is not read, and the reason.
    case skipped(String, ZipContents.Skipped.Reason)

    /// Checks the raw bytes of a name.
    ///
    /// - Throws: `unsafeName`.
    init(_ bytes: [UInt8], limits: ZipLimits) throws(ZipError) {
        let shown = String(decoding: bytes, as: UTF8.self).visible
        func check(_ rule: ZipError.NameRule, _ holds: Bool, _ words: String) throws(ZipError) {
            guard holds else {
                throw ZipError(.unsafeName(shown, rule: rule), "an entry is named “\(shown)”, which \(words)")
            }
        }

        try check(.empty, !bytes.isEmpty, "is empty")
        let text = String(validating: bytes, as: UTF8.self)
        try check(.encoding, text != nil, "is not UTF-8")
        let name = text ?? shown
        try check(.nul, !bytes.contains(0), "contains NUL")
        try check(
            .control, !name.unicodeScalars.contains(where: \.steersTerminal), "contains a control character")
        try check(.length, bytes.count <= limits.nameLength, "is longer than \(limits.nameLength) bytes")

        if bytes.starts(with: "__MACOSX/".utf8) {
            self = .skipped(name, .macOSAttributes)
            return
        }
        if bytes.last == UInt8(ascii: "/") {
            self = .skipped(name, .folder)
            return
        }
        try check(
            .component, !bytes.contains(UInt8(ascii: "/")) && !bytes.contains(UInt8(ascii: "\\")),
            "is not a single path component")
        try check(.colon, !bytes.contains(UInt8(ascii: ":")), "contains a colon")
        try check(.dots, name != "." && name != "..", "is a relative path")
        let lowered = name.lowercased()
        try check(
            .suffix, lowered.hasSuffix(".p12") || lowered.hasSuffix(".pfx"),
            "ends neither in .p12 nor in .pfx")
        self = .file(name)
    }

    /// The name of a file or of a skipped entry.
    var text: String {
        switch self {
        case .file(let name), .skipped(let name, _): name
        }
    }

    /// Returns a form of `name` for comparisons. The result is equal for names that a file system may treat as equal,
    /// because they differ only in letter case or Unicode normalization.
    ///
    /// Converts to upper case first, so that letters such as "ß" become "SS". Normalization needs no separate step,
    /// because `String` compares by canonical equivalence.
    static func folded(_ name: String) -> String {
        name.uppercased().lowercased()
    }
}
