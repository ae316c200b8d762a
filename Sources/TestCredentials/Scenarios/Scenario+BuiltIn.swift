extension Scenario {
    /// The scenarios that come with the provider; a test holds their number against the files.
    package static let builtIn: [Scenario] = texts.compactMap { name, text in
        try? Scenario(yaml: text, name: name, source: name)
    }

    /// The built-in scenario of a name.
    ///
    /// - Throws: `noSuchScenario`.
    package static func named(_ name: String) throws(ProvisioningError) -> Scenario {
        if let scenario = builtIn.first(where: { $0.name == name }) { return scenario }
        let near = NearMatch.of(name, among: builtIn.map(\.name))
        throw ProvisioningError(
            .noSuchScenario, "there is no scenario and no file \u{201C}\(name)\u{201D}",
            hint: (near.map { "did you mean \u{201C}\($0)\u{201D}? " } ?? "")
                + "keyshare-provider provision --list-scenarios lists them")
    }

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
