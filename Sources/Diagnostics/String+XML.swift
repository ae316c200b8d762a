extension String {
    /// The text escaped for XML and HTML, on one line. Control characters are shown as escapes such as `\u{1B}`,
    /// because XML cannot represent most of them (XML 1.0, 2.2). U+FFFE and U+FFFF become U+FFFD.
    package var escapedInXML: String { Self.escapedInXML(visible) }

    /// The text escaped for XML and HTML, with its line feeds kept.
    package var escapedInXMLKeepingLineFeeds: String { Self.escapedInXML(visible(keepingLineFeeds: true)) }

    private static func escapedInXML(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "\u{FFFE}", "\u{FFFF}": result += "\u{FFFD}"
            case "\n", "\u{20}"...: result.unicodeScalars.append(scalar)
            default: result += " "
            }
        }
        return result
    }
}
