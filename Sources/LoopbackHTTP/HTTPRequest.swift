package import SecretMemory

/// An HTTP request, reduced to the parts that small servers need.
package struct HTTPRequest: Sendable, Equatable {
    /// The supported methods (RFC 9110, 9.3).
    package enum Method: String, Sendable, Hashable {
        case get = "GET"
        case head = "HEAD"
        case post = "POST"
    }

    /// The request's method.
    package let method: Method
    /// The path as in the request, with percent-encoding and without the query.
    package let path: String
    /// The query: the part of the request's target after the question mark, with percent-encoding. Empty if there is no
    /// query.
    package let query: String
    /// The header fields, keyed by lower-case name, each with its values in order. `authorization` is not included.
    package let fields: [String: [String]]
    /// The value of `Authorization` (RFC 9110, 11.6.2), including the scheme; nil if the field is absent.
    package let authorization: SecretBytes?
    /// The request's content; empty if there is none.
    package let body: [UInt8]

    /// Creates a request from its parts.
    package init(
        method: Method, path: String, query: String = "", fields: [String: [String]] = [:],
        authorization: SecretBytes? = nil, body: [UInt8] = []
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.fields = fields
        self.authorization = authorization
        self.body = body
    }

    /// Returns the value of a header field; nil if the field is missing or occurs more than once.
    package func field(_ name: String) -> String? {
        let values = fields[name.lowercased()] ?? []
        return values.count == 1 ? values[0] : nil
    }
}
