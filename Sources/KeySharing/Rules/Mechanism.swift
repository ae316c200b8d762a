/// The two ways of key sharing, which never mix: their types, lists and passwords all differ.
public enum Mechanism: String, Sendable, Hashable, CaseIterable {
    /// Since 2016: the provider filters, the password travels on the pasteboard.
    case legacy
    /// Since 2025: the provider lists everything, the OS disables what was not asked for, and a password
    /// service hands out the password.
    case keySharing2025 = "2025"
}

extension Mechanism: CustomStringConvertible {
    /// `legacy` or `2025`, as the commands spell it.
    public var description: String { rawValue }
}
