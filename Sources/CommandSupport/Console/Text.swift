package import Foundation

extension Date {
    /// The date in ISO 8601 in UTC to the second, as every output shows times.
    package var utcText: String {
        formatted(.iso8601)
    }

    /// The day in UTC, such as `2026-03-01`, for tables.
    package var dayText: String {
        String(utcText.prefix(10))
    }
}

extension String {
    /// The first sixteen characters of a label and an ellipsis, for tables; `show` finds an identity by as much.
    package var abbreviated: String {
        prefix(16) + "\u{2026}"
    }
}

extension String {
    /// The text with control characters spelled out, so that what a file or peer says cannot steer a terminal;
    /// line feeds stay, for text of several lines.
    var escapingControls: String {
        // Nearly all text is plain; to look up each scalar's category takes longer than to print it.
        if utf8.allSatisfy({ $0 == UInt8(ascii: "\n") || (0x20..<0x7F).contains($0) }) { return self }
        guard unicodeScalars.contains(where: \.isUnwanted) else { return self }
        return unicodeScalars.map { scalar in
            scalar.isUnwanted ? "\\u{\(String(scalar.value, radix: 16, uppercase: true))}" : String(scalar)
        }.joined()
    }
}

extension Unicode.Scalar {
    /// A control character other than line feed, or one that changes the direction of text.
    fileprivate var isUnwanted: Bool {
        (properties.generalCategory == .control && self != "\n")
            || ("\u{202A}"..."\u{202E}").contains(self) || ("\u{2066}"..."\u{2069}").contains(self)
    }
}
