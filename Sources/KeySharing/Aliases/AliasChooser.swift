/// The dialog in which a user grants an app the use of a key, as Android's `KeyChain.choosePrivateKeyAlias` shows it
/// (docs/rules.md R9.12).
///
/// ```swift
/// let chooser = AliasChooser(entries, requesting: "Purebred Recovered #1", keyTypes: ["RSA"])
/// let outcome = chooser.outcome(of: .allow)
/// let alias = outcome.alias  // nil if the chooser does not offer the requested alias
/// ```
public struct AliasChooser: Sendable, Hashable {
    /// The user's answers.
    public enum Answer: String, Sendable, Hashable, CaseIterable {
        /// The button *Allow*.
        case allow
        /// The button *Deny*.
        case deny
        /// The button *Back*.
        case cancel
    }

    /// The reasons for an outcome without an alias. Android reports all of them as a null alias. The raw values are
    /// stable codes for scripts.
    public enum Reason: String, Sendable, Hashable, CaseIterable {
        /// The user denied the request.
        case userDenied = "user-denied"
        /// The user closed the dialog.
        case userCanceled = "user-canceled"
        /// No entry matches the filters, so no dialog was shown.
        case noMatch = "no-match"
        /// No offered entry was selected, so *Allow* was disabled.
        case notSelectable = "not-selectable"
    }

    /// The outcome of a dialog.
    public struct Outcome: Sendable, Hashable {
        /// The alias that the app may now use; nil if there is a ``reason``.
        public let alias: String?
        /// Whether the dialog preselected the alias.
        public let isPreselected: Bool
        /// Why there is no alias; nil if there is one.
        public let reason: Reason?
    }

    /// The offered entries, sorted by alias (bytewise).
    public let offered: [AliasEntry]
    /// The alias that is selected when the dialog opens; nil if none is, in which case *Allow* is disabled until the
    /// user selects one.
    public let preselected: String?

    /// Creates the dialog.
    ///
    /// Only user-selectable entries with a certificate are offered. The dialog preselects the requested alias if it is
    /// offered. Without a requested alias, it preselects an entry that is the only one.
    ///
    /// - Parameters:
    ///   - entries: The entries of the store, in any order.
    ///   - alias: The alias that the app requests; nil for any.
    ///   - keyTypes: The accepted key types, such as `RSA` and `EC`; empty for any.
    ///   - issuers: The accepted issuers' names in DER; empty for any. One of them must have issued a certificate of the
    ///     entry's chain.
    public init(
        _ entries: [AliasEntry], requesting alias: String? = nil, keyTypes: [String] = [],
        issuers: [[UInt8]] = []
    ) {
        offered = entries.filter { entry in
            guard let certificate = entry.certificate, entry.isUserSelectable else { return false }
            return (keyTypes.isEmpty || keyTypes.contains(certificate.keyType))
                && (issuers.isEmpty || certificate.issuers.contains(where: issuers.contains))
        }
        .sorted(by: AliasEntry.precedes)
        if let alias {
            preselected = offered.contains { $0.alias.hasSameBytes(as: alias) } ? alias : nil
        } else {
            preselected = offered.count == 1 ? offered.first?.alias : nil
        }
    }

    /// Whether the system opens the dialog. If no entry is offered, the app immediately receives a null alias.
    public var opens: Bool { !offered.isEmpty }

    /// Returns the outcome of the user's answer.
    ///
    /// - Parameters:
    ///   - answer: The button that the user pressed.
    ///   - selection: The alias that the user selected; nil for the preselected one.
    public func outcome(of answer: Answer, selecting selection: String? = nil) -> Outcome {
        func without(_ reason: Reason) -> Outcome {
            Outcome(alias: nil, isPreselected: false, reason: reason)
        }
        guard opens else { return without(.noMatch) }
        switch answer {
        case .deny: return without(.userDenied)
        case .cancel: return without(.userCanceled)
        case .allow:
            guard let alias = selection ?? preselected,
                offered.contains(where: { $0.alias.hasSameBytes(as: alias) })
            else { return without(.notSelectable) }
            let isPreselected = preselected?.hasSameBytes(as: alias) == true
            return Outcome(alias: alias, isPreselected: isPreselected, reason: nil)
        }
    }
}

extension AliasChooser.Reason {
    /// The reason, as a sentence without a full stop.
    public var message: String {
        switch self {
        case .userDenied: "the user denied the use of the key"
        case .userCanceled: "the user closed the dialog"
        case .noMatch: "no entry matches the requested key types and issuers"
        case .notSelectable: "the requested alias is not among the offered ones, so nothing was selected"
        }
    }
}
