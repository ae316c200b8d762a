import ArgumentParser
import CommandSupport
import Foundation
import KeyShareProvider
import KeyShareServer
import OpenSSL

/// The behaviour of alias sharing while the provider is running.
struct AliasServiceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Inject a fault in alias sharing; see the list above.", valueName: "name"))
    var aliasFault: AliasFault?

    /// Returns the service for the aliases of a provider, and stores the fault for renewals and resets, which run in
    /// other processes.
    ///
    /// - Parameters:
    ///   - store: The provider's keychain.
    ///   - token: The options that alias sharing has in common with the token.
    ///   - clock: The clock for broadcasts.
    /// - Throws: `KeychainError`, `FileError` if KeyChain or the user's decisions cannot be opened.
    func service(
        of store: ProviderStore, _ token: TokenServiceOptions, _ clock: ClockOptions
    ) throws -> any AliasService {
        try AliasFault.store(aliasFault, on: store.device)
        let aliases = try AliasContentProvider(
            store, isLikeTheSample: token.likeTheSample,
            presenceTimeout: token.presenceTimeout.map { .seconds($0) } ?? .seconds(60),
            now: { clock.now }, sleep: { try await Task.sleep(for: $0) })
        return aliasFault.map { FaultyAliases(aliases, fault: $0, random: .system) } ?? aliases
    }

    /// A note about the fault; nil if there is none.
    var note: String? { aliasFault.map { "deliberate fault of alias sharing: \($0.explanation)" } }

    /// The faults with their effects, one line each.
    static let faults = AliasFault.allCases.map { fault in
        "  " + fault.name.padded(to: 29) + fault.explanation
    }.joined(separator: "\n")
}

extension AliasFault: ExpressibleByArgument {}
