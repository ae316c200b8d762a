extension String {
    /// The text escaped for XML and HTML, on one line. Characters that XML cannot represent are replaced by escapes or
    /// omitted (XML 1.0, 2.2).
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
