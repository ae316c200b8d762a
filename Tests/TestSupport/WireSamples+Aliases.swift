internal import KeyShareProtocol
internal import KeyShareWire
internal import PersistentToken

// Samples of the feature `aliases`.

extension WireSamples {
    /// The requests, with the names of their vectors and their ids.
    static let aliasRequests: [(name: String, id: UInt32, request: ProviderRequest)] = [
        (
            "alias-query", 30,
            .aliasQuery(
                AliasQueryRequest(app: "com.example.mail", columns: ["type", "alias"], cursor: "256"))
        ),
        ("alias-query-all", 31, .aliasQuery(AliasQueryRequest(app: "a", columns: []))),
        (
            "alias-choose", 32,
            .aliasChoose(
                AliasChoiceRequest(
                    app: "com.example.mail", alias: "Purebred \u{E9}", keyTypes: ["RSA", "EC"],
                    issuers: [[0x30, 0], []], host: "mail.example", port: 443))
        ),
        ("alias-choose-any", 33, .aliasChoose(AliasChoiceRequest(app: "a"))),
        (
            "alias-use", 34,
            .use(
                TokenUse(
                    objectID: "keychain:Purebred \u{E9}", .rsaSignaturePKCS1v15(.message, .sha256),
                    data: Array("abc".utf8)))
        ),
    ]

    /// The replies, with the names of their vectors and their ids.
    static let aliasReplies: [(name: String, id: UInt32, reply: ProviderReply)] = [
        (
            "alias-query-reply", 30,
            .aliases(
                AliasPage(
                    changeCount: 1 << 40, columns: ["alias", "type"],
                    rows: [["Purebred \u{E9}", "Identity"], ["", ""]], nextCursor: "256"))
        ),
        (
            "alias-query-empty", 31,
            .aliases(AliasPage(changeCount: 0, columns: ["type"], rows: [], nextCursor: nil))
        ),
        ("alias-chosen", 32, .aliasChosen(AliasChoice(alias: "Purebred \u{E9}", reason: nil))),
        ("alias-not-chosen", 33, .aliasChosen(AliasChoice(alias: nil, reason: "no-match"))),
    ]
}
