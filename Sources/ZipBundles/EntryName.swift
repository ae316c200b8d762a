internal import Diagnostics

/// The name of an entry, judged by the rules of `ZipError.NameRule`.
enum EntryName: Equatable {
    /// A file to read.
    case file(String)
    /// Something to pass over.
    case skipped(String, ZipContents.Skipped.Reason)

    /// Judges the raw bytes of a name.
    ///
    /// - Throws: `ZipError.Code.unsafeName`.
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

    /// The name, whatever is done with its entry.
    var text: String {
        switch self {
        case .file(let name), .skipped(let name, _): name
        }
    }

    /// A form that is the same for names that some file system takes for one.
    ///
    /// Upper case first, so that letters such as "ß" unfold; `String` compares by canonical equivalence.
    static func folded(_ name: String) -> String {
        name.uppercased().lowercased()
    }
}
