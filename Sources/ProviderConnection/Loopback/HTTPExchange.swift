/// What is asked over HTTP, as far as a server of a few public files needs to know.
package struct HTTPQuery: Sendable, Hashable {
    package enum Method: String, Sendable, Hashable {
        case get = "GET"
        case head = "HEAD"
        case post = "POST"
    }

    package let method: Method
    /// The path as it stands in the request, percent signs included, without the query behind it.
    package let path: String
    package let body: [UInt8]

    package init(method: Method, path: String, body: [UInt8] = []) {
        self.method = method
        self.path = path
        self.body = body
    }
}

/// What comes back over HTTP.
package struct HTTPAnswer: Sendable, Hashable {
    /// The status code (RFC 9110 15).
    package let status: Int
    package let contentType: String
    package let body: [UInt8]

    package init(status: Int = 200, contentType: String, body: [UInt8]) {
        self.status = status
        self.contentType = contentType
        self.body = body
    }

    /// A sentence for a person.
    package static func text(_ status: Int, _ sentence: String) -> HTTPAnswer {
        HTTPAnswer(
            status: status, contentType: "text/plain; charset=utf-8", body: Array((sentence + "\n").utf8))
    }
}
