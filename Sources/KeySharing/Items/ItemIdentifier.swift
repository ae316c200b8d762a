/// The identifier of an item of the 2025 mechanism, taken apart (docs/rules.md R3.12).
///
/// ```swift
/// let identifier = ItemIdentifier("Encryption.zip")  // .zip(.encryption)
/// let text = ItemIdentifier.folder(.authentication).description  // "PIV"
/// ```
public enum ItemIdentifier: Sendable, Hashable {
    /// The file of an identity at the root; spelled as the label.
    case identity(label: String)
    /// The file of an identity in the folder of a selector; spelled `<Folder>.<label>`.
    case member(Selector, label: String)
    /// The folder of a selector; spelled as the folder's name.
    case folder(Selector)
    /// The zip of a selector; spelled `<Folder>.zip`.
    case zip(Selector)

    /// Reads an identifier; nil for text that no item can have as its identifier.
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

    /// The text as a label, a SHA-256 in upper-case hexadecimal (docs/rules.md R3.11); nil for other text.
    private static func label(_ text: Substring) -> String? {
        let isLabel =
            text.utf8.count == 64
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x46).contains($0) }
        return isLabel ? String(text) : nil
    }
}

extension ItemIdentifier: CustomStringConvertible {
    /// The identifier as text, as the protocol carries it.
    public var description: String {
        switch self {
        case .identity(let label): label
        case .member(let selector, let label): "\(selector.folderName).\(label)"
        case .folder(let selector): selector.folderName
        case .zip(let selector): selector.zipName
        }
    }
}
