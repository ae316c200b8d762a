/// Something that a certificate names a URL for.
package struct FetchRequest: Sendable, Hashable {
    /// What is to be found there.
    package enum Kind: String, Sendable, Hashable {
        /// Certificates of the issuer (caIssuers, RFC 5280 4.2.2.1).
        case issuer
        /// A revocation list (RFC 5280 4.2.1.13).
        case list
        /// The status of one certificate (OCSP, RFC 6960).
        case status
    }

    /// The URL.
    package let url: String
    /// What is to be found there.
    package let kind: Kind
    /// The request that is posted, in DER; empty where the URL is only read.
    package let body: [UInt8]

    init(_ kind: Kind, _ url: String, body: [UInt8] = []) {
        self.kind = kind
        self.url = url
        self.body = body
    }

    /// Whether the URL is one of the web, which alone are fetched; a directory (LDAP), for one, is not asked.
    var isOfTheWeb: Bool {
        let start = url.prefix(8).lowercased()
        return start.hasPrefix("http:") || start.hasPrefix("https:")
    }
}

/// What came of a request.
package struct FetchRecord: Sendable, Hashable {
    /// The URL.
    package let url: String
    /// What was to be found there.
    package let kind: FetchRequest.Kind
    /// How much arrived, or why nothing did, as a phrase.
    package let outcome: String
    /// Whether what arrived is what was asked for.
    package let hasArrived: Bool
}

/// What comes back of a request.
package enum FetchAnswer: Sendable {
    /// The bytes that arrived.
    case arrived([UInt8])
    /// Why nothing arrived, as one phrase for people.
    case nothing(String)
}

/// How much is fetched.
package struct FetchLimits: Sendable, Hashable {
    /// The most requests for one certificate.
    package var requests = 64
    /// The most octets in all.
    package var octets = 64 << 20
    /// The longest time in all, beyond which no further request is made.
    package var time: Duration = .seconds(30)

    /// The usual limits.
    package init() {}
}
