package import SecretMemory

/// An HTTP request, as far as a server of a few resources needs it.
package struct HTTPRequest: Sendable, Equatable {
    /// The methods that are answered (RFC 9110, 9.3).
    package enum Method: String, Sendable, Hashable {
        case get = "GET"
        case head = "HEAD"
        case post = "POST"
    }

    /// The request's method.
    package let method: Method
    /// The path as the request has it, percent signs included, and without the query behind it.
    package let path: String
    /// What stands behind the question mark of the target, percent signs included; empty for nothing.
    package let query: String
    /// The header fields by their names in lower case, each with its values in their order; `authorization` is not among
    /// them.
    package let fields: [String: [String]]
    /// The value of `Authorization` (RFC 9110, 11.6.2), scheme included; nil without that field.
    package let authorization: SecretBytes?
    /// The request's content; empty for none.
    package let body: [UInt8]

    /// Makes a request from its parts.
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

    /// The value of a header field; nil where the request has none of the name, or more than one.
    package func field(_ name: String) -> String? {
        let values = fields[name.lowercased()] ?? []
        return values.count == 1 ? values[0] : nil
    }
}
