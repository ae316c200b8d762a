internal import LoopbackHTTP
internal import OpenSSL

/// Access control: decides which requests may read the page, and which may change something.
///
/// A secret in the printed URL is exchanged for a cookie, which a script cannot read and no other site can send. A
/// change also requires a token, which only a page of this server receives. `Host` is checked because a name of another
/// site may resolve to this machine (DNS rebinding).
struct WebAccess: Sendable {
    /// The server's host and port, as they appear in the `Host` header.
    let host: String
    /// The secret of the URL: 128 bits as hexadecimal digits.
    let secret: String
    /// The token that a request must contain to change something.
    let token: String
    private let cookie: String
    private let cookieName: String

    /// Creates the secrets of a server at `host`, a host and a port.
    init(host: String, port: Int) {
        self.host = host
        secret = Self.random()
        token = Self.random()
        cookie = Self.random()
        // Cookies do not depend on the port (RFC 6265, 8.5).
        cookieName = "keyshare-\(port)"
    }

    /// The URL that opens the page, including the secret.
    var url: String { "http://\(host)/?key=\(secret)" }

    /// The decision whether to process a request.
    enum Verdict {
        /// Process the request.
        case answer
        /// Reject or redirect the request with this response.
        case send(HTTPResponse)
    }

    /// Decides whether to process a request, before its body is read.
    func judge(_ request: HTTPRequest) -> Verdict {
        guard request.field("host") == host else {
            return .send(refusal("this server answers only requests for the host \(host)"))
        }
        if let origin = request.fields["origin"], origin != ["http://\(host)"] {
            return .send(refusal("requests from other sites are rejected"))
        }
        if let site = request.field("sec-fetch-site"), !["same-origin", "none"].contains(site),
            request.path != "/"
        {
            return .send(refusal("requests from other sites are rejected"))
        }
        if request.method == .get, request.path == "/", request.query.hasPrefix("key=") {
            guard Self.areEqual(String(request.query.dropFirst(4)), secret) else {
                return .send(refusal("the key in the address is wrong"))
            }
            return .send(
                HTTPResponse(
                    status: 303, contentType: "text/plain; charset=utf-8", body: [], mayBeStored: false,
                    fields: Self.fields.merging([
                        "Location": "/",
                        "Set-Cookie": "\(cookieName)=\(cookie); Path=/; HttpOnly; SameSite=Strict",
                    ]) { $1 }))
        }
        guard sentCookies(request).contains(where: { Self.areEqual($0, cookie) }) else {
            return .send(refusal("open the address that keyshare-device web printed"))
        }
        if request.method == .post {
            guard request.fields["origin"] != nil,
                Self.areEqual(request.field("x-keyshare-token") ?? "", token),
                request.field("content-type")?.hasPrefix("application/json") == true
            else { return .send(refusal("a change requires the page\u{2019}s token")) }
        }
        return .answer
    }

    /// The header fields of every response: no content from other hosts, no frames, no content sniffing.
    static let fields = [
        "Content-Security-Policy":
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
            + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
    ]

    private func refusal(_ sentence: String) -> HTTPResponse {
        HTTPResponse(
            status: 403, contentType: "text/plain; charset=utf-8", body: Array((sentence + "\n").utf8),
            mayBeStored: false, fields: Self.fields)
    }

    /// The values of all cookies with the server's name. A page on another port of this host can add one.
    private func sentCookies(_ request: HTTPRequest) -> [String] {
        let pairs = (request.fields["cookie"] ?? []).flatMap { $0.split(separator: ";") }
        return pairs.map { $0.drop { $0 == " " } }
            .filter { $0.hasPrefix(cookieName + "=") }
            .map { String($0.dropFirst(cookieName.count + 1)) }
    }

    /// Compares secrets in a time that does not depend on where they differ.
    private static func areEqual(_ text: String, _ other: String) -> Bool {
        let (bytes, others) = (Array(text.utf8), Array(other.utf8))
        guard bytes.count == others.count else { return false }
        return zip(bytes, others).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    private static func random() -> String {
        var random = RandomSource.system.generator()
        let digits = Array("0123456789abcdef")
        return String((0..<32).map { _ in digits[Int.random(in: 0..<16, using: &random)] })
    }
}
