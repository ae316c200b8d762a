import KeyShareProtocol
import KeyShareWire
import Testing

@Suite("Limits of requests about aliases", .timeLimit(.minutes(10)))
struct AliasLimitTests {
    private static let longest = String(repeating: "a", count: Wire.aliasTextLimit)
    private static let longer = longest + "a"
    private static let most = [String](repeating: "a", count: Wire.aliasListLimit)
    private static let issuer = [UInt8](repeating: 1, count: Wire.issuerLimit)

    @Test("Requests whose texts, lists and issuers are as long as permitted are within the limits")
    func permitted() {
        #expect(
            AliasQueryRequest(app: Self.longest, columns: Self.most, cursor: Self.longest).exceededLimit
                == nil)
        let choice = AliasChoiceRequest(
            app: Self.longest, alias: Self.longest, keyTypes: Self.most,
            issuers: [[UInt8]](repeating: Self.issuer, count: Wire.aliasListLimit), host: Self.longest)
        #expect(choice.exceededLimit == nil)
    }

    @Test(
        "A text that is one byte too long, or that contains NUL, exceeds a limit",
        arguments: [longer, "a\0b"])
    func texts(text: String) {
        let reason = text.utf8.contains(0) ? "contains NUL" : "at most 255 bytes"
        let limits = [
            AliasQueryRequest(app: text, columns: []).exceededLimit,
            AliasQueryRequest(app: "", columns: ["a", text]).exceededLimit,
            AliasQueryRequest(app: "", columns: [], cursor: text).exceededLimit,
            AliasChoiceRequest(app: text).exceededLimit,
            AliasChoiceRequest(app: "", alias: text).exceededLimit,
            AliasChoiceRequest(app: "", keyTypes: ["RSA", text]).exceededLimit,
            AliasChoiceRequest(app: "", host: text).exceededLimit,
        ]
        for (place, limit) in limits.enumerated() {
            #expect(limit?.hasSuffix(reason) == true, "request \(place): \(limit ?? "no limit")")
        }
    }

    @Test("A list with one entry too many exceeds a limit")
    func lists() {
        let issuers = [[UInt8]](repeating: [1], count: Wire.aliasListLimit + 1)
        for limit in [
            AliasQueryRequest(app: "", columns: Self.most + ["a"]).exceededLimit,
            AliasChoiceRequest(app: "", keyTypes: Self.most + ["a"]).exceededLimit,
            AliasChoiceRequest(app: "", issuers: issuers).exceededLimit,
        ] {
            #expect(limit == "a request about aliases has at most 64 columns, key types or issuers")
        }
    }

    @Test("An issuer that is one byte too long exceeds a limit")
    func issuers() {
        let request = AliasChoiceRequest(app: "", issuers: [[1], Self.issuer + [1]])
        #expect(request.exceededLimit == "an issuer has at most 4096 bytes")
    }
}
