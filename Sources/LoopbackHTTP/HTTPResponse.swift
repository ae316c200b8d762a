/// An HTTP response.
package struct HTTPResponse: Sendable, Hashable {
    /// The status code (RFC 9110, 15).
    package let status: Int
    /// The value of `Content-Type` (RFC 9110, 8.3); empty for a response without one.
    package let contentType: String
    /// The response's content.
    package let body: [UInt8]
    /// Whether caches may keep the response. If not, it is sent with `no-store` (RFC 9111, 5.2.2.5).
    package let mayBeStored: Bool
    /// Further header fields of a response that is sent, by their names.
    package let fields: [String: String]

    /// Makes a response from its parts.
    package init(
        status: Int = 200, contentType: String, body: [UInt8], mayBeStored: Bool = true,
        fields: [String: String] = [:]
    ) {
        self.status = status
        self.contentType = contentType
        self.body = body
        self.mayBeStored = mayBeStored
        self.fields = fields
    }

    /// Makes a response whose content is a sentence for people.
    package static func text(_ status: Int, _ sentence: String, mayBeStored: Bool = true) -> HTTPResponse {
        HTTPResponse(
            status: status, contentType: "text/plain; charset=utf-8", body: Array((sentence + "\n").utf8),
            mayBeStored: mayBeStored)
    }
}

/// The answer to a request.
package enum HTTPAnswer: Sendable {
    /// A response that is there.
    case response(HTTPResponse)
    /// A response whose content goes on behind its body for as long as the stream has parts and the peer stays. A peer
    /// that reads slowly holds up the stream alone, whose maker bounds what it buffers.
    case stream(HTTPResponse, AsyncStream<[UInt8]>)
}
