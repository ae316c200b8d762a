import ArgumentParser
import CommandSupport
import DeviceSimulation
import Foundation
import KeyShareProvider
import PersistentToken

/// The behaviour of the persistent token while the provider is running.
struct TokenServiceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Inject a fault in the persistent token; see the list above.", valueName: "name"))
    var tokenFault: TokenFault?

    @Flag(
        help: """
            Serve files in the layout of the sample app (the profile sample-served), limit the persistent token to \
            RSA with the sample's errors, and answer queries for aliases with the sample's defects.
            """)
    var likeTheSample = false

    @Option(
        help: ArgumentHelp(
            "How long a key can be used after the user's consent, in seconds. (default: 180)",
            valueName: "seconds"))
    var presenceCache: Double?

    @Option(
        help: ArgumentHelp(
            "The time limit for the user's answer, in seconds. (default: 60)",
            valueName: "seconds"))
    var presenceTimeout: Double?

    @Option(
        help: ArgumentHelp(
            "The PKCS #11 login: presence (no login), path (the simulated user approves) or pin (the device's passcode). With +always, keys for non-repudiation require a login for each use. (default: presence)",
            valueName: "mode"))
    var tokenLogin: TokenLoginName?

    func validate() throws {
        guard (0...86_400).contains(presenceCache ?? 0) else {
            throw ValidationError("--presence-cache must be a number from 0 to 86400")
        }
        guard (0...80).contains(presenceTimeout ?? 0) else {
            throw ValidationError("--presence-timeout must be a number from 0 to 80")
        }
    }

    /// Returns the token extension for the registrations of a provider.
    func tokenExtension(of store: ProviderStore, _ deviceState: DeviceStateWatch) -> TokenExtension {
        var behaviour = TokenExtension.Behaviour()
        behaviour.isLikeTheSample = likeTheSample
        if let presenceCache { behaviour.cacheLifetime = .seconds(presenceCache) }
        if let presenceTimeout { behaviour.presenceTimeout = .seconds(presenceTimeout) }
        return TokenExtension(
            store, behaviour: behaviour, fault: tokenFault, deviceState: deviceState,
            now: { ContinuousClock.now },
            sleep: { try await Task.sleep(for: $0) })
    }

    /// Returns the service that checks logins before key uses, and applies the fault.
    func loginService(before token: TokenExtension) -> TokenLoginService {
        var behaviour = TokenLoginService.Behaviour()
        switch tokenLogin ?? .presence {
        case .presence: break
        case .path, .pathAlways: behaviour.mode = .path
        case .pin, .pinAlways: behaviour.mode = .pin
        }
        behaviour.asksAlways = tokenLogin == .pathAlways || tokenLogin == .pinAlways
        let faulty = FaultyToken(token, sleep: { try await Task.sleep(for: $0) })
        return TokenLoginService(
            faulty ?? token, behaviour: behaviour,
            presenceTimeout: presenceTimeout.map { .seconds($0) }
                ?? TokenExtension.Behaviour().presenceTimeout,
            sleep: { try await Task.sleep(for: $0) })
    }

    /// A note about the token's unusual behaviour; nil if it is normal.
    var note: String? {
        let parts = [
            likeTheSample ? "the token has the limits of the sample app" : nil, tokenFault?.explanation,
        ].compactMap(\.self)
        return parts.isEmpty ? nil : "deliberate token behaviour: " + parts.joined(separator: "; ")
    }

    /// The faults with their effects, one line each.
    static let faults = TokenFault.allCases.map { fault in
        "  " + fault.name.padded(to: 29) + fault.explanation
    }.joined(separator: "\n")
}

/// The ways to log in to the token, as named on the command line.
enum TokenLoginName: String, CaseIterable, ExpressibleByArgument {
    case presence, path, pin
    case pathAlways = "path+always"
    case pinAlways = "pin+always"
}

extension TokenFault: ExpressibleByArgument {}
