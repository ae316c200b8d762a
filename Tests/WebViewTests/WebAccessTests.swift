import CommandSupport
import LoopbackHTTP
import Testing

@testable import WebView

@Suite("Access to the device's page", .timeLimit(.minutes(10)))
struct WebAccessTests {
    private let access = WebAccess(host: "127.0.0.1:8080", port: 8_080)

    private func judge(
        _ method: HTTPRequest.Method, _ path: String, query: String = "", _ fields: [String: [String]] = [:],
        host: String = "127.0.0.1:8080"
    ) -> HTTPResponse? {
        let request = HTTPRequest(
            method: method, path: path, query: query, fields: fields.merging(["host": [host]]) { $1 })
        if case .send(let response) = access.judge(request) { return response }
        return nil
    }

    private func cookie() throws -> String {
        let response = try #require(judge(.get, "/", query: "key=" + access.secret))
        return String(try #require(response.fields["Set-Cookie"]?.split(separator: ";").first))
    }

    @Test(
        "The 128-bit secret in the URL is exchanged for a cookie hidden from scripts and other sites"
    )
    func exchange() throws {
        #expect(access.secret.count == 32 && access.secret.allSatisfy(\.isHexDigit))
        let response = try #require(judge(.get, "/", query: "key=" + access.secret))
        #expect(response.status == 303 && response.fields["Location"] == "/")
        let cookie = try #require(response.fields["Set-Cookie"])
        #expect(cookie.hasSuffix("; Path=/; HttpOnly; SameSite=Strict") && !cookie.contains(access.secret))
        #expect(judge(.get, "/", ["cookie": [try self.cookie()]]) == nil)
        #expect(WebAccess(host: "127.0.0.1:8080", port: 8_080).secret != access.secret)
    }

    @Test("A request with more than 30 consecutive combining marks is rejected")
    func marks() throws {
        func name(_ marks: Int) throws -> [String: String] {
            let text = String(repeating: #"\u0301"#, count: marks)
            return try WebRoutes.read([String: String].self, Array(#"{"name": "a\#(text)"}"#.utf8))
        }
        #expect(try name(30).count == 1)
        #expect(throws: CommandFailure.self) { try name(31) }
    }

    @Test("Requests without the cookie, with another key or with another cookie are rejected")
    func withoutCookie() throws {
        let name = try #require(try cookie().split(separator: "=").first)
        for path in ["/", "/page.js", "/api/state", "/api/events", "/nothing"] {
            #expect(judge(.get, path)?.status == 403, "\(path)")
            #expect(judge(.get, path, ["cookie": ["\(name)=00"]])?.status == 403, "\(path)")
        }
        #expect(judge(.get, "/", query: "key=" + String(repeating: "0", count: 32))?.status == 403)
        #expect(judge(.get, "/api/state", query: "key=" + access.secret)?.status == 403)
    }

    @Test("Another cookie of the same name, set by a page on another port, does not lock out the user")
    func severalCookies() throws {
        let right = try cookie()
        let name = try #require(right.split(separator: "=").first)
        let wrong = "\(name)=\(String(repeating: "0", count: 32))"
        let headers = [
            ["\(wrong); \(right)"], ["\(right); \(wrong)"], ["\(name)=; \(right)"], [wrong, right],
        ]
        for fields in headers {
            #expect(judge(.get, "/api/state", ["cookie": fields]) == nil, "\(fields)")
        }
        #expect(judge(.get, "/api/state", ["cookie": ["\(wrong); \(wrong)"]])?.status == 403)
    }

    @Test("Another host name, another origin and another site are rejected, even with the cookie")
    func otherSites() throws {
        let fields = ["cookie": [try cookie()]]
        for host in ["evil.example", "localhost:8080", "127.0.0.1:8081", "127.0.0.1"] {
            #expect(judge(.get, "/", fields, host: host)?.status == 403, "\(host)")
        }
        for origin in ["http://evil.example", "null", "https://127.0.0.1:8080", "http://127.0.0.1:8081"] {
            let fields = fields.merging(["origin": [origin]]) { $1 }
            #expect(judge(.get, "/api/state", fields)?.status == 403, "\(origin)")
        }
        // A link on another site may open the page itself.
        #expect(judge(.get, "/", fields.merging(["sec-fetch-site": ["cross-site"]]) { $1 }) == nil)
        // Another port of this machine is the same site but another origin.
        for site in ["cross-site", "same-site", "other"] {
            let fields = fields.merging(["sec-fetch-site": [site]]) { $1 }
            #expect(judge(.get, "/api/state", fields)?.status == 403, "\(site)")
        }
        for site in ["same-origin", "none"] {
            #expect(
                judge(.get, "/api/state", fields.merging(["sec-fetch-site": [site]]) { $1 }) == nil, "\(site)"
            )
        }
    }

    @Test("The page's server accepts only connections of its own user")
    func ownUser() {
        #expect(WebLimits.server.isForOwnUserOnly)
    }

    @Test("A change request requires the page's token, the same origin and JSON")
    func changes() throws {
        let whole = [
            "cookie": [try cookie()], "origin": ["http://127.0.0.1:8080"], "x-keyshare-token": [access.token],
            "content-type": ["application/json"],
        ]
        #expect(judge(.post, "/api/device", whole) == nil)
        for field in whole.keys {
            #expect(judge(.post, "/api/device", whole.filter { $0.key != field })?.status == 403, "\(field)")
        }
        #expect(judge(.post, "/api/device", whole.merging(["x-keyshare-token": ["0"]]) { $1 })?.status == 403)
        #expect(
            judge(.post, "/api/device", whole.merging(["content-type": ["text/plain"]]) { $1 })?.status == 403
        )
    }

    @Test("The page loads nothing from other hosts and runs no inline scripts or styles")
    func policy() throws {
        let policy = try #require(WebAccess.fields["Content-Security-Policy"])
        #expect(
            policy.hasPrefix("default-src 'none';") && !policy.contains("unsafe") && !policy.contains("http"))
        #expect(judge(.get, "/")?.fields["Access-Control-Allow-Origin"] == nil)
    }
}
