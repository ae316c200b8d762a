/// An HTTP response.
package struct HTTPResponse: Sendable, Hashable {
    /// The status code (RFC 9110, 15).
    package let status: Int
    /// The value of `Content-Type` (RFC 9110, 8.3); empty if there is none.
    package let contentType: String
    /// The response's content.
    package let body: [UInt8]
    /// Whether caches may store the response. If false, it is sent with `Cache-Control: no-store` (RFC 9111, 5.2.2.5).
    package let mayBeStored: Bool
    /// Additional header fields to send, keyed by name. Empty in responses that `LoopbackClient` received.
    package let fields: [String: String]

    /// Creates a response from its parts.
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

    /// Creates a plain-text response with one sentence.
    package static func text(_ status: Int, _ sentence: String, mayBeStored: Bool = true) -> HTTPResponse {
        HTTPResponse(
            status: status, contentType: "text/plain; charset=utf-8", body: Array((sentence + "\n").utf8),
            mayBeStored: mayBeStored)
    }
}

/// The answer to a request.
package enum HTTPAnswer: Sendable {
    /// A complete response.
    case response(HTTPResponse)
    /// A response whose body is followed by the parts of the stream, until the stream or the connection ends. A slow
    /// peer delays only its own stream. The creator of the stream must limit the number of buffered parts.
    case stream(HTTPResponse, AsyncStream<[UInt8]>)
}
