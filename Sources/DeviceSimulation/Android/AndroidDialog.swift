package import KeySharing

/// A dialog in which Android's system asks the user on behalf of an app. Its texts come from the app, so it contains
/// no characters that control the display.
package struct AndroidDialog: Sendable, Hashable, Codable {
    /// The kinds of dialogs.
    package enum Kind: String, Sendable, Hashable, Codable {
        /// The prompt for the permission READ_ALIAS (docs/rules.md R9.11).
        case readAlias = "read-alias"
        /// KeyChain's chooser (docs/rules.md R9.12).
        case chooseKey = "choose-key"
    }

    /// The maximum number of aliases in ``offered``.
    package static let mostOffered = 300

    /// The kind of the dialog.
    package let kind: Kind
    /// The name of the app that asks. It is not authenticated.
    package let app: String
    /// The aliases that the chooser offers, sorted bytewise: the first ``mostOffered``, and the preselected one.
    package let offered: [String]
    /// The alias that is selected when the chooser opens; nil if none is.
    package let preselected: String?
    /// The host that asks for a certificate; nil if the app named none.
    package let host: String?
    /// The port of the host; nil if the app named none.
    package let port: UInt16?

    /// Creates the prompt for the permission READ_ALIAS.
    package init(permissionFor app: String) {
        (kind, self.app, offered) = (.readAlias, app, [])
        (preselected, host, port) = (nil, nil, nil)
    }

    /// Creates KeyChain's chooser.
    package init(_ chooser: AliasChooser, for app: String, host: String?, port: UInt16?) {
        (kind, self.app) = (.chooseKey, app)
        let shown = chooser.offered.prefix(Self.mostOffered).map(\.alias)
        let hidden = chooser.preselected.flatMap { alias in
            shown.contains { $0.hasSameBytes(as: alias) } ? nil : alias
        }
        offered = shown + (hidden.map { [$0] } ?? [])
        preselected = chooser.preselected
        let text = host.map { String($0.unicodeScalars.filter { AliasNaming.isValid(String($0)) }) }
        self.host = text.flatMap { $0.isEmpty ? nil : $0 }
        self.port = self.host == nil ? nil : port
    }
}
