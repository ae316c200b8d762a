/// A request for validation material at a URL in a certificate.
package struct FetchRequest: Sendable, Hashable {
    /// The kinds of material at a URL.
    package enum Kind: String, Sendable, Hashable {
        /// Certificates of the issuer (caIssuers, RFC 5280 4.2.2.1).
        case issuer
        /// A revocation list (RFC 5280 4.2.1.13).
        case list
        /// The status of one certificate (OCSP, RFC 6960).
        case status
    }

    /// The URL, as in the certificate.
    package let url: String
    /// The kind of material at the URL.
    package let kind: Kind
    /// The body of a POST request, in DER; empty for a GET request.
    package let body: [UInt8]

    init(_ kind: Kind, _ url: String, body: [UInt8] = []) {
        self.kind = kind
        self.url = url
        self.body = body
    }

    /// Whether the URL uses HTTP. URLs with other schemes, such as `ldap:`, are not fetched.
    var isOfTheWeb: Bool {
        let start = url.prefix(8).lowercased()
        return start.hasPrefix("http:") || start.hasPrefix("https:")
    }
}

/// The outcome of a request.
package struct FetchRecord: Sendable, Hashable {
    /// The URL.
    package let url: String
    /// The kind of material at the URL.
    package let kind: FetchRequest.Kind
    /// The amount of material that arrived, or the reason for the failure, as a phrase.
    package let outcome: String
    /// The kind of outcome.
    package let status: Status

    /// Whether material of the requested kind arrived.
    package var hasArrived: Bool { status == .arrived }

    /// The kinds of outcomes.
    package enum Status: Sendable, Hashable {
        /// Material of the requested kind arrived.
        case arrived
        /// The request was not sent, because the user has not permitted the host.
        case hostNotPermitted
        /// The request was not sent for another reason, or it failed.
        case failed
    }
}

/// The result of sending a request.
package enum FetchAnswer: Sendable {
    /// The bytes that arrived.
    case arrived([UInt8])
    /// The request failed. The value is the reason, as a phrase for users.
    case nothing(String)
    /// The request was not sent, because the user has not permitted the host. The value is the reason, as a phrase for
    /// users.
    case hostNotPermitted(String)
}

/// The limits on fetching the material for one certificate.
package struct FetchLimits: Sendable, Hashable {
    /// The maximum number of requests for one certificate.
    package var requests = 64
    /// The maximum total size of the responses, in bytes.
    package var octets = 64 << 20
    /// The maximum total time, after which no further request is sent.
    package var time: Duration = .seconds(30)

    /// Creates the default limits.
    package init() {}
}
