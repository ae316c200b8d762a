extension String {
    /// The text as XML and HTML have it, on one line; what XML has no way to write is spelled out or left out
    /// (XML 1.0, 2.2).
    package var escapedInXML: String { Self.escapedInXML(visible) }

    /// The text as XML and HTML have it, line feeds as they are.
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
