package import SecretMemory

/// What is asked over HTTP, as far as a server of a few things needs to know.
package struct HTTPRequest: Sendable, Equatable {
    package enum Method: String, Sendable, Hashable {
        case get = "GET"
        case head = "HEAD"
        case post = "POST"
    }

    package let method: Method
    /// The path as it stands in the request, percent signs included, without the query behind it.
    package let path: String
    /// What stands in `Authorization` (RFC 9110 11.6.2), the scheme included; nil where there is no such field.
    package let authorization: SecretBytes?
    package let body: [UInt8]

    package init(method: Method, path: String, authorization: SecretBytes? = nil, body: [UInt8] = []) {
        self.method = method
        self.path = path
        self.authorization = authorization
        self.body = body
    }
}

/// What comes back over HTTP.
package struct HTTPResponse: Sendable, Hashable {
    /// The status code (RFC 9110 15).
    package let status: Int
    package let contentType: String
    package let body: [UInt8]
    /// Whether caches may keep it; `no-store` (RFC 9111 5.2.2.5) is said otherwise.
    package let mayBeStored: Bool

    package init(status: Int = 200, contentType: String, body: [UInt8], mayBeStored: Bool = true) {
        self.status = status
        self.contentType = contentType
        self.body = body
        self.mayBeStored = mayBeStored
    }

    /// A sentence for a person.
    package static func text(_ status: Int, _ sentence: String, mayBeStored: Bool = true) -> HTTPResponse {
        HTTPResponse(
            status: status, contentType: "text/plain; charset=utf-8", body: Array((sentence + "\n").utf8),
            mayBeStored: mayBeStored)
    }
}
