package import KeyShareWire
package import KeySharing

extension AliasPick {
    /// Returns the picked aliases.
    ///
    /// - Throws: `CommandFailure` (9) if there is none, with the pitfall of an alias that the user may mean.
    package func required() throws(CommandFailure) -> [String] {
        guard let reason else { return aliases }
        let suspect = suspects.min { $0.key < $1.key }
        throw CommandFailure(
            .noSuchItem, reason,
            hint: suspect.flatMap { alias, warnings in warnings.first.map { "\(alias): \($0.message)" } }
                ?? "to list the aliases: keyshare-consumer alias query --columns alias,type")
    }
}

extension CommandFailure {
    /// The failure for a choice in KeyChain's dialog that returned no alias.
    package init(_ choice: AliasChoice) {
        self.init(
            .aliasNotChosen,
            choice.reason.flatMap(AliasChooser.Reason.init)?.message ?? "no alias was chosen",
            hint: choice.reason == AliasChooser.Reason.notSelectable.rawValue
                ? "name an alias; to list them: keyshare-consumer alias query --columns alias" : nil)
    }
}
