/// An object identifier of a certificate with its readable name, if it has one.
package struct NamedIdentifier: Sendable, Hashable {
    /// The identifier, dotted.
    package let oid: String
    /// The name for display; nil if no name is known.
    package let name: String?

    init(_ oid: String, _ names: [String: String]) {
        self.oid = oid
        let known = names[oid] ?? ObjectIdentifierName.name(of: oid)
        name = known == oid ? nil : known
    }

    /// Returns the name of an extended key usage (RFC 5280 4.2.1.12).
    package static func purpose(_ oid: String) -> NamedIdentifier { .init(oid, purposes) }

    /// Returns the name of a certificate policy (RFC 5280 4.2.1.4).
    package static func policy(_ oid: String) -> NamedIdentifier { .init(oid, policies) }

    /// The names of the purposes that occur in the credentials of people and devices and in their authorities'
    /// certificates. For other purposes, OpenSSL's names are used.
    private static let purposes = [
        // RFC 5280 4.2.1.12.
        "2.5.29.37.0": "any purpose",
        "1.3.6.1.5.5.7.3.1": "TLS server",
        "1.3.6.1.5.5.7.3.2": "TLS client",
        "1.3.6.1.5.5.7.3.3": "code signing",
        "1.3.6.1.5.5.7.3.4": "e-mail protection",
        "1.3.6.1.5.5.7.3.8": "time stamping",
        "1.3.6.1.5.5.7.3.9": "OCSP signing",
        // RFC 4945 5.1.3.12, RFC 6187 2.2.2, RFC 9336.
        "1.3.6.1.5.5.7.3.17": "IPsec IKE",
        "1.3.6.1.5.5.7.3.21": "SSH client",
        "1.3.6.1.5.5.7.3.22": "SSH server",
        "1.3.6.1.5.5.7.3.36": "document signing",
        // RFC 4556 3.2.4.
        "1.3.6.1.5.2.3.4": "Kerberos client",
        "1.3.6.1.5.2.3.5": "Kerberos server",
        // Microsoft's.
        "1.3.6.1.4.1.311.20.2.2": "smart card logon",
        "1.3.6.1.4.1.311.10.3.4": "file encryption",
        "1.3.6.1.4.1.311.10.3.12": "document signing",
        // FIPS 201-3, B.1.
        "2.16.840.1.101.3.6.7": "PIV content signing",
        "2.16.840.1.101.3.6.8": "PIV card authentication",
    ]

    /// The names of the policies of the Federal PKI, of its test environment, and of the Department of Defense (DoD CP
    /// 1.2). Each identifier in the test arc represents one production policy (FPKI CITE Participation Guide, appendix
    /// A).
    private static let policies: [String: String] = {
        var names = [
            // RFC 5280 4.2.1.4.
            "2.5.29.32.0": "anyPolicy",
            // The number is the strength of the keys in bits.
            "2.16.840.1.101.2.1.11.5": "DoD medium",
            "2.16.840.1.101.2.1.11.9": "DoD medium hardware",
            "2.16.840.1.101.2.1.11.10": "DoD PIV authentication",
            "2.16.840.1.101.2.1.11.17": "DoD medium device 2048",
            "2.16.840.1.101.2.1.11.18": "DoD medium 2048",
            "2.16.840.1.101.2.1.11.19": "DoD medium hardware 2048",
            "2.16.840.1.101.2.1.11.20": "DoD PIV authentication 2048",
            "2.16.840.1.101.2.1.11.36": "DoD medium device 112",
            "2.16.840.1.101.2.1.11.37": "DoD medium device 128",
            "2.16.840.1.101.2.1.11.38": "DoD medium device 192",
            "2.16.840.1.101.2.1.11.39": "DoD medium 112",
            "2.16.840.1.101.2.1.11.40": "DoD medium 128",
            "2.16.840.1.101.2.1.11.41": "DoD medium 192",
            "2.16.840.1.101.2.1.11.42": "DoD medium hardware 112",
            "2.16.840.1.101.2.1.11.43": "DoD medium hardware 128",
            "2.16.840.1.101.2.1.11.44": "DoD medium hardware 192",
        ]
        let federal: [(number: Int, test: Int, name: String)] = [
            (1, 1, "FPKI bridge rudimentary"), (2, 2, "FPKI bridge basic"), (3, 3, "FPKI bridge medium"),
            (12, 4, "FPKI bridge medium hardware"), (14, 5, "FPKI bridge medium commercial"),
            (15, 6, "FPKI bridge medium hardware commercial"), (4, 7, "FPKI bridge high"),
            (6, 8, "FPKI common"), (7, 9, "FPKI common hardware"), (8, 10, "FPKI common devices"),
            (13, 11, "FPKI common authentication"), (16, 12, "FPKI common high"),
            (17, 13, "FPKI common card authentication"), (18, 78, "FPKI PIV-I hardware"),
            (19, 79, "FPKI PIV-I card authentication"), (20, 80, "FPKI PIV-I content signing"),
            (36, 98, "FPKI common devices hardware"), (37, 99, "FPKI bridge devices"),
            (38, 100, "FPKI bridge devices hardware"), (39, 86, "FPKI common PIV content signing"),
            (40, 109, "FPKI derived PIV authentication"),
            (41, 110, "FPKI derived PIV authentication hardware"),
            (45, 83, "FPKI common PIV-I authentication"), (46, 84, "FPKI common PIV-I card authentication"),
            (47, 85, "FPKI common PIV-I content signing"),
        ]
        for policy in federal {
            names["2.16.840.1.101.3.2.1.3.\(policy.number)"] = policy.name
            names["2.16.840.1.101.3.2.1.48.\(policy.test)"] = "test " + policy.name
        }
        return names
    }()
}

extension NamedIdentifier: CustomStringConvertible {
    /// The name with the identifier in parentheses, such as `smart card logon (1.3.6.1.4.1.311.20.2.2)`, or only the
    /// identifier.
    package var description: String { name.map { "\($0) (\(oid))" } ?? oid }
}
