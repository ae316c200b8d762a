/// Creates and parses the identifiers of a token and its items, in the format of CryptoTokenKit.
///
/// A token is created for one certificate. Its instance name is the SHA-256 of the certificate in upper-case
/// hexadecimal digits, which is also the label of the identity and the name of both items.
package enum TokenIdentifier {
    /// The class of the provider's token extension (`com.apple.ctk.class-id` in its `Info.plist`).
    package static let driverClass = "red.hound.keyshare.provider.token"

    /// Returns the token's identifier (`kSecAttrTokenID`): class and instance, separated by a colon.
    ///
    /// - Parameter label: The label of the identity.
    package static func token(_ label: String) -> String { "\(driverClass):\(label)" }

    /// Returns the label of the identity of the token with this identifier; nil for tokens of other classes.
    package static func label(ofToken token: String) -> String? {
        let prefix = driverClass + ":"
        guard token.utf8.starts(with: prefix.utf8) else { return nil }
        let label = String(token.dropFirst(prefix.count))
        return isLabel(label) ? label : nil
    }

    /// Whether a string has the form of a label: 64 upper-case hexadecimal digits.
    package static func isLabel(_ text: String) -> Bool {
        text.utf8.count == 64
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x46).contains($0) }
    }
}
