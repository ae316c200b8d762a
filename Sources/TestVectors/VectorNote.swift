/// A note in `pkcs12-vectors.json`: a property of test vectors, and the mistake in consumers that it reveals.
package struct VectorNote: Sendable, Codable, Hashable {
    /// The kind of mistake, as one of the values that Wycheproof's schemas define.
    package let bugType: String
    /// One or two sentences about the property.
    package let description: String
    /// The URLs of the relevant standard and of public reports.
    package let links: [String]
    /// The CVE numbers of vulnerabilities that resulted from this mistake.
    package let cves: [String]

    init(_ bugType: String, _ description: String, _ links: [String], cves: [String] = []) {
        self.bugType = bugType
        self.description = description
        self.links = links
        self.cves = cves
    }

    static let standard = "https://www.rfc-editor.org/rfc/rfc7292"

    /// All notes, keyed by flag.
    package static let all: [String: VectorNote] = [
        "Usual": VectorNote(
            "BASIC", "A file as common programs write it, with modern algorithms.",
            [standard + "#section-4"]),
        "LegacyAlgorithms": VectorNote(
            "LEGACY",
            "The encryption is RC2 or Triple DES, and the MAC uses SHA-1. Many files in use have these algorithms, and OpenSSL 3 opens them only with its legacy provider.",
            [
                standard + "#appendix-C", "https://github.com/openssl/openssl/issues/11672",
                "https://github.com/nodejs/node/issues/40672",
            ]),
        "Pbmac1": VectorNote(
            "FUNCTIONALITY", "The MAC is PBMAC1, which FIPS modules can compute.",
            [
                "https://www.rfc-editor.org/rfc/rfc9579", "https://www.rfc-editor.org/rfc/rfc9879",
                "https://github.com/openssl/openssl/issues/24546",
                "https://github.com/bcgit/bc-java/issues/1739",
            ]),
        "EmptyPassword": VectorNote(
            "EDGE_CASE",
            "The password is empty or absent. Both occur, and their derivations differ by a terminator.",
            [
                standard + "#appendix-B.1", "https://github.com/dotnet/runtime/issues/103929",
                "https://github.com/zeroc-ice/ice/pull/6503",
            ]),
        "PasswordEncoding": VectorNote(
            "EDGE_CASE", "The password has characters outside ASCII, or is long.",
            [
                standard + "#appendix-B.1", "https://github.com/openssl/openssl/issues/25467",
                "https://github.com/openssl/openssl/issues/3531",
                "https://github.com/openwall/john/issues/4179",
                "https://github.com/ARMmbed/mbed-crypto/issues/337",
                "https://github.com/PeculiarVentures/PKI.js/issues/404",
                "https://github.com/openssl/openssl/pull/6179",
            ]),
        "BerEncoding": VectorNote(
            "BER_ENCODING", "The file has indefinite lengths and constructed strings. PKCS #12 permits BER.",
            [
                standard + "#section-5.1", "https://github.com/SSLMate/go-pkcs12/issues/25",
                "https://github.com/golang/go/issues/48210",
                "https://github.com/pyca/cryptography/issues/12936",
                "https://github.com/bcgit/bc-java/issues/1276",
                "https://github.com/wolfSSL/wolfssl/pull/6160",
                "https://github.com/PeculiarVentures/PKI.js/issues/405",
            ]),
        "SafeLayout": VectorNote(
            "EDGE_CASE", "The order, nesting or encryption of the bags is one that few programs write.",
            [
                standard + "#section-4.1", standard + "#section-4.2.6",
                "https://github.com/openssl/openssl/issues/6665",
                "https://github.com/bcgit/bc-java/issues/1494",
            ]),
        "IterationCount": VectorNote(
            "EDGE_CASE", "The iteration count is small, odd or large, but programs use it.",
            [standard + "#section-4"]),
        "SeveralIdentities": VectorNote(
            "FUNCTIONALITY",
            "The file contains several keys with certificates. Many programs return only the first one.",
            [standard + "#section-4.2", "https://github.com/pyca/pyopenssl/issues/895"]),
        "Attributes": VectorNote(
            "EDGE_CASE", "The attributes that connect a key with its certificate are missing or disagree.",
            [standard + "#section-4.2"]),
        "FriendlyName": VectorNote(
            "EDGE_CASE", "The friendly name is long, or has characters outside ASCII or control characters.",
            [
                standard + "#section-4.2", "https://www.rfc-editor.org/rfc/rfc2985#section-5.5.1",
                "https://openssl-library.org/news/vulnerabilities/",
                "https://github.com/Ephenodrom/Dart-Basic-Utils/issues/115",
                "https://github.com/chris2511/xca/issues/568",
                "https://github.com/SSLMate/go-pkcs12/issues/49",
            ],
            cves: ["CVE-2025-69419"]),
        "CertificateContents": VectorNote(
            "EDGE_CASE",
            "The file is valid, and its certificate is unusual or would fail validation. Opening the file does not validate the certificate.",
            ["https://www.rfc-editor.org/rfc/rfc5280#section-4", standard + "#section-4.2.3"]),
        "KeyMismatch": VectorNote(
            "MISSING_STEP", "A private key does not belong to the certificate with its local key ID.",
            [standard + "#section-4.2", "https://github.com/dotnet/runtime/issues/45696"]),
        "IncompleteIdentity": VectorNote(
            "DEFINED",
            "The file opens, and contains no key with its certificate. A reader of files accepts it; an importer of identities reports that there is none.",
            [standard + "#section-4.2"]),
        "DamagedContents": VectorNote(
            "MISSING_STEP", "The MAC is valid, and a key or a certificate inside is damaged.",
            [standard + "#section-4.2"]),
        "Integrity": VectorNote(
            "AUTH_BYPASS", "The MAC is missing or does not match the contents and the password.",
            [standard + "#section-5.1", "https://github.com/randombit/botan/issues/5894"]),
        "ExcessiveIterations": VectorNote(
            "MISSING_STEP",
            "The iteration count occupies a processor for an hour. The count is read before anything is authenticated.",
            [
                "https://github.com/openssl/openssl/issues/21103",
                "https://github.com/golang/go/issues/79798",
                "https://github.com/SSLMate/go-pkcs12/pull/81",
            ]),
        "ExcessiveKey": VectorNote(
            "MISSING_STEP", "The numbers of the private key are so large that checking it takes seconds.",
            ["https://openssl-library.org/news/vulnerabilities/"], cves: ["CVE-2024-4603"]),
        "InvalidParameters": VectorNote(
            "MODIFIED_PARAMETER", "The iteration count of the MAC is zero or negative.",
            [standard + "#appendix-B.2", "https://github.com/golang/crypto/pull/343"]),
        "TrailingBytes": VectorNote(
            "MALLEABILITY", "Bytes follow the file or an element in it. Padding with zeros is in use.",
            [standard + "#section-4"]),
        "NotPkcs12": VectorNote(
            "BASIC", "The bytes are not a complete PKCS #12 file.",
            [
                standard + "#section-4", "https://openssl-library.org/news/vulnerabilities/",
                "https://github.com/wolfSSL/wolfssl/pull/10172",
            ], cves: ["CVE-2024-0727", "CVE-2025-69421"]),
    ].merging(parameters) { first, _ in first }
}

extension TestVector {
    /// The flags of the test vector, which are keys of ``VectorNote/all``.
    package var flags: [String] {
        if let flags = ownFlags ?? Self.flagsByName[name] { return flags }
        for (suffix, flag) in Self.flagsBySuffix where name.hasSuffix(suffix) { return [flag] }
        return Self.namesOfCertificateDefects.contains(name) ? ["CertificateContents"] : ["Usual"]
    }

    private static let namesOfCertificateDefects = Set(CertificateDefects.all.map(\.name))

    private static let flagsBySuffix = [
        ("-compatible", "LegacyAlgorithms"), ("-purebred-sample", "LegacyAlgorithms"),
        ("-sample-served", "LegacyAlgorithms"), ("-pbmac1", "Pbmac1"), ("-empty-password", "EmptyPassword"),
        ("-style", "IterationCount"),
    ]

    private static let flagsByName: [String: [String]] = [
        "absent-password": ["EmptyPassword"], "non-ascii-password": ["PasswordEncoding"],
        "long-password": ["PasswordEncoding"], "ber": ["BerEncoding"], "nested-safes": ["SafeLayout"],
        "plain-key": ["SafeLayout"], "keys-first": ["SafeLayout"], "one-safe": ["SafeLayout"],
        "certificates-in-clear": ["SafeLayout"], "iterations-1": ["IterationCount"],
        "iterations-1999": ["IterationCount"], "two-types": ["SeveralIdentities"],
        "two-identities": ["SeveralIdentities"],
        "duplicate-serial": ["SeveralIdentities", "CertificateContents"],
        "mismatch-beside-identity": ["KeyMismatch", "SeveralIdentities"],
        "no-local-key-id": ["Attributes"], "untied-key": ["Attributes"],
        "non-latin-name": ["FriendlyName"], "emoji-name": ["FriendlyName"], "control-name": ["FriendlyName"],
        "long-name": ["FriendlyName"], "key-of-another-certificate": ["KeyMismatch"],
        "no-identity": ["IncompleteIdentity"], "certificate-only": ["IncompleteIdentity"],
        "key-only": ["IncompleteIdentity"], "damaged-certificate": ["DamagedContents"],
        "damaged-key": ["DamagedContents"], "other-password": ["Integrity"], "flipped-bit": ["Integrity"],
        "no-mac": ["Integrity"], "iteration-bomb": ["ExcessiveIterations"],
        "oversized-key": ["ExcessiveKey"], "zero-iterations": ["InvalidParameters"],
        "negative-iterations": ["InvalidParameters"], "trailing-bytes": ["TrailingBytes"],
        "trailing-zeroes": ["TrailingBytes"], "octets-behind": ["TrailingBytes"],
        "truncated": ["NotPkcs12"], "empty-file": ["NotPkcs12"], "garbage": ["NotPkcs12"],
        "pem-text": ["NotPkcs12"], "bare-certificate": ["NotPkcs12"],
    ]
}
