import CommandSupport
import DeviceSimulation
import KeyShareProvider
import OpenSSL

/// The options of serve that take precedence over a scenario's settings, which a reload can change.
struct ServeSettings: Sendable {
    let root: RootContents?
    let pasteboardExpiry: Double?
    let profile: ProfileOptions
    let likeTheSample: Bool
    /// Whether an option injects a fault.
    let hasFault: Bool

    /// The settings that a provider uses.
    struct Effective {
        /// The single files in the root of the 2025 listing.
        let root: RootContents
        /// How long the password of a legacy export stays on the pasteboard, in seconds.
        let pasteboardExpiry: Double
        let profile: PKCS12Profile
        /// The friendly name of all keys and certificates; nil for the default of the mechanism.
        let friendlyName: String?
    }

    /// Returns the options, completed by a scenario's settings and the defaults.
    func over(_ behaviour: ServiceBehaviour?) -> Effective {
        Effective(
            root: root ?? behaviour?.root ?? .all,
            pasteboardExpiry: pasteboardExpiry ?? behaviour?.pasteboardExpiry ?? Pasteboard.standardLifetime,
            profile: profile.selected(over: behaviour, likeTheSample: likeTheSample),
            friendlyName: profile.friendlyName ?? behaviour?.friendlyName)
    }
}

extension ProfileOptions {
    /// Returns the profile that these options select. The default is the sample app's profile if its behaviour was
    /// requested, and otherwise the scenario's profile.
    func selected(over behaviour: ServiceBehaviour?, likeTheSample: Bool = false) -> PKCS12Profile {
        if likeTheSample { return selected(usual: .sampleServed) }
        return selected(
            usual: behaviour?.profile ?? .modern, iterations: behaviour?.iterations,
            chain: behaviour?.chain ?? false)
    }
}

extension ServiceBehaviour {
    /// The note that the provider follows these settings; nil if all are the defaults.
    var note: String? {
        summary.map { "following the scenario \(scenario), except for options: \($0)" }
    }
}
