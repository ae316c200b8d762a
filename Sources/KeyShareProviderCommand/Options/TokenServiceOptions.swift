import ArgumentParser
import CommandSupport
import DeviceSimulation
import Foundation
import KeyShareProvider
import PersistentToken

/// How the persistent token behaves while the provider serves.
struct TokenServiceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Let the persistent token do one thing wrong on purpose; the list is above.", valueName: "name"))
    var tokenFault: TokenFault?

    @Flag(help: "Let the persistent token be as narrow as the sample's, RSA alone, and have its errors.")
    var likeTheSample = false

    @Option(
        help: ArgumentHelp(
            "How long a key stays open after the user was there, in seconds. (default: 180)",
            valueName: "seconds"))
    var presenceCache: Double?

    @Option(
        help: ArgumentHelp(
            "How long a question to the user waits for the answer, in seconds. (default: 60)",
            valueName: "seconds"))
    var presenceTimeout: Double?

    @Option(
        help: ArgumentHelp(
            "How programs log in to the token through PKCS #11: presence (they need not), path (the user is asked), pin (the device's passcode); with +always keys for non-repudiation ask at each use. (default: presence)",
            valueName: "mode"))
    var tokenLogin: TokenLoginName?

    func validate() throws {
        guard (0...86_400).contains(presenceCache ?? 0) else {
            throw ValidationError("--presence-cache takes a number from 0 to 86400")
        }
        guard (0...80).contains(presenceTimeout ?? 0) else {
            throw ValidationError("--presence-timeout takes a number from 0 to 80")
        }
    }

    /// The token extension for the registrations of a provider.
    func keys(of store: ProviderStore, _ deviceState: DeviceStateWatch) -> TokenKeys {
        var behaviour = TokenKeys.Behaviour()
        behaviour.isLikeTheSample = likeTheSample
        behaviour.fault = tokenFault
        if let presenceCache { behaviour.cacheLifetime = .seconds(presenceCache) }
        if let presenceTimeout { behaviour.presenceTimeout = .seconds(presenceTimeout) }
        return TokenKeys(
            store, behaviour: behaviour, deviceState: deviceState, now: { ContinuousClock.now },
            sleep: { try await Task.sleep(for: $0) })
    }

    /// The logins before the keys.
    func gate(before keys: TokenKeys) -> TokenGate {
        var behaviour = TokenGate.Behaviour()
        switch tokenLogin ?? .presence {
        case .presence: break
        case .path, .pathAlways: behaviour.mode = .path
        case .pin, .pinAlways: behaviour.mode = .pin
        }
        behaviour.asksAlways = tokenLogin == .pathAlways || tokenLogin == .pinAlways
        return TokenGate(
            keys, behaviour: behaviour,
            presenceTimeout: presenceTimeout.map { .seconds($0) } ?? TokenKeys.Behaviour().presenceTimeout,
            sleep: { try await Task.sleep(for: $0) })
    }

    /// What is unusual about the token, for people; nil where nothing is.
    var note: String? {
        let parts = [
            likeTheSample ? "it is as narrow as the sample's" : nil, tokenFault?.explanation,
        ].compactMap(\.self)
        return parts.isEmpty ? nil : "the persistent token on purpose: " + parts.joined(separator: "; ")
    }

    /// The faults with what each does, a line each.
    static let faults = TokenFault.allCases.map { fault in
        "  " + fault.rawValue.padded(to: 29) + fault.explanation
    }.joined(separator: "\n")
}

/// The ways to log in to the token, as the command line names them.
enum TokenLoginName: String, CaseIterable, ExpressibleByArgument {
    case presence, path, pin
    case pathAlways = "path+always"
    case pinAlways = "pin+always"
}

extension TokenFault: ExpressibleByArgument {}
