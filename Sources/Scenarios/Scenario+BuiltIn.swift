internal import Diagnostics
package import TestCredentials
extension Scenario {
    /// The built-in scenarios, in list order.
    package static let builtIn: [Scenario] = texts.map { name, text in
        BuiltInData.read("\(name).yaml") { try Scenario(yaml: text, name: name, source: "\(name).yaml") }
    }

    /// The names of the built-in scenarios, available without parsing them.
    package static var builtInNames: [String] { texts.map(\.name) }

    /// Finds a built-in scenario.
    ///
    /// - Throws: `ProvisioningError`: `.noSuchScenario`, with the nearest name as its remedy.
    package static func named(_ name: String) throws(ProvisioningError) -> Scenario {
        if let scenario = builtIn.first(where: { $0.name == name }) { return scenario }
        throw ProvisioningError(
            .noSuchScenario, "no built-in scenario and no file is named \u{201C}\(name)\u{201D}",
            remedy: NearMatch.of(name, among: builtIn.map(\.name)).map { .nearestName($0) })
    }

    /// The files of `Data/Scenarios`. They are listed here because the compiler generates one constant for each file.
    private static let texts: [(name: String, text: [UInt8])] = [
        ("fresh-user", PackageResources.fresh_user_yaml),
        ("three-renewals", PackageResources.three_renewals_yaml),
        ("same-not-before", PackageResources.same_not_before_yaml),
        ("expired-signature", PackageResources.expired_signature_yaml),
        ("renewed-early", PackageResources.renewed_early_yaml),
        ("only-recovered-keys", PackageResources.only_recovered_keys_yaml),
        ("many-recovered-keys", PackageResources.many_recovered_keys_yaml),
        ("elliptic-curves", PackageResources.elliptic_curves_yaml),
        ("profile-change", PackageResources.profile_change_yaml),
        ("derived-and-piv-i", PackageResources.derived_and_piv_i_yaml),
        ("device-only", PackageResources.device_only_yaml),
        ("unknown-type", PackageResources.unknown_type_yaml),
        ("mixed-mechanisms", PackageResources.mixed_mechanisms_yaml),
        ("no-match", PackageResources.no_match_yaml),
        ("nobody", PackageResources.nobody_yaml),
        ("revoked-signature", PackageResources.revoked_signature_yaml),
        ("disagreeing-names", PackageResources.disagreeing_names_yaml),
        ("like-the-samples", PackageResources.like_the_samples_yaml),
        ("no-password", PackageResources.no_password_yaml),
        ("late-password", PackageResources.late_password_yaml),
        ("cut-off", PackageResources.cut_off_yaml),
    ]
}
