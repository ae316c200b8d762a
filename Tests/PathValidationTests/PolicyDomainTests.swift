import OpenSSL
import Testing

@testable import PathValidation

@Suite("Policies of a partial path", .timeLimit(.minutes(10)))
struct PolicyDomainTests {
    private static let any = "2.5.29.32.0"

    private func domain(_ leaf: [String], over levels: [[String]]) -> PolicyDomain {
        var domain = PolicyDomain(leaf: leaf)
        for level in levels { domain.rise(over: level, mappings: []) }
        return domain
    }

    @Test("A path without a policy meets no request, and a path with one meets a request for any policy")
    func requests() {
        #expect(!domain([], over: []).meets([Self.any]))
        #expect(domain(["1.2"], over: []).meets([Self.any]))
        #expect(domain(["1.2"], over: []).meets(["1.2"]) && !domain(["1.2"], over: []).meets(["1.3"]))
    }

    @Test("Any policy of the leaf remains only if every authority asserts it")
    func anyPolicy() {
        #expect(domain([Self.any], over: [[Self.any]]).meets(["1.9"]))
        #expect(!domain([Self.any], over: [["1.2"]]).meets(["1.9"]))
        #expect(domain([Self.any], over: [["1.2"]]).meets(["1.2"]))
    }
}
