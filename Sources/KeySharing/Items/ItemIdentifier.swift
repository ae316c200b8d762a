/// What an item of the 2025 mechanism is, as its identifier spells it.
public enum ItemIdentifier: Sendable, Hashable {
    /// An identity at the root: its label.
    case identity(label: String)
    /// The same identity inside a folder: `<Folder>.<label>`.
    case member(Selector, label: String)
    case folder(Selector)
    case zip(Selector)

    /// Reads an identifier; nil where it cannot name anything.
    public init?(_ text: String) {
        if let selector = Selector(folderName: text) {
            self = .folder(selector)
        } else if let selector = Selector(zipName: text) {
            self = .zip(selector)
        } else if let dot = text.firstIndex(of: ".") {
            guard let selector = Selector(folderName: String(text[..<dot])),
                let label = Self.label(text[text.index(after: dot)...])
            else { return nil }
            self = .member(selector, label: label)
        } else {
            guard let label = Self.label(text[...]) else { return nil }
            self = .identity(label: label)
        }
    }

    /// The identifier of an identity's file in the folder of `selector`, or at the root where that is nil.
    public init(label: String, in selector: Selector?) {
        self = selector.map { .member($0, label: label) } ?? .identity(label: label)
    }

    /// A SHA-256 in upper-case hexadecimal, as labels are.
    private static func label(_ text: Substring) -> String? {
        let isLabel =
            text.utf8.count == 64
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x46).contains($0) }
        return isLabel ? String(text) : nil
    }
}

extension ItemIdentifier: CustomStringConvertible {
    /// The identifier as messages carry it.
    public var description: String {
        switch self {
        case .identity(let label): label
        case .member(let selector, let label): "\(selector.folderName).\(label)"
        case .folder(let selector): selector.folderName
        case .zip(let selector): selector.zipName
        }
    }
}
