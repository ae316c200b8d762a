internal import KeyShareProtocol
internal import NIOCore

// The encodings of the feature `aliases`, which `Protocol.md` describes under "Aliases".

extension FieldReader {
    mutating func aliasQuery() throws(ProviderFailure) -> AliasQueryRequest {
        AliasQueryRequest(
            app: try string("the app"), columns: try strings("the columns"), cursor: try cursor())
    }

    mutating func aliasPage() throws(ProviderFailure) -> AliasPage {
        let changeCount = try integer("the change count", as: UInt64.self)
        let columns = try strings("the columns")
        let rows = try list("the rows", smallest: 2) { (reader) throws(ProviderFailure) in
            let row = try reader.strings("the row")
            guard row.count == columns.count else {
                throw ProviderFailure(
                    .malformed, "a row has \(row.count) values for \(columns.count) columns")
            }
            return row
        }
        return AliasPage(changeCount: changeCount, columns: columns, rows: rows, nextCursor: try cursor())
    }

    mutating func aliasChoiceRequest() throws(ProviderFailure) -> AliasChoiceRequest {
        AliasChoiceRequest(
            app: try string("the app"), alias: try text("the alias"), keyTypes: try strings("the key types"),
            issuers: try list("the issuers", smallest: 2) { (reader) throws(ProviderFailure) in
                try reader.bytes("the issuer")
            },
            host: try text("the host"),
            port: try optional("the port") { (reader) throws(ProviderFailure) in
                try reader.integer("the port", as: UInt16.self)
            })
    }

    mutating func aliasChoice() throws(ProviderFailure) -> AliasChoice {
        AliasChoice(alias: try text("the alias"), reason: try text("the reason"))
    }

    private mutating func text(_ field: StaticString) throws(ProviderFailure) -> String? {
        try optional(field) { (reader) throws(ProviderFailure) in try reader.string(field) }
    }
}

extension ByteBuffer {
    mutating func write(_ query: AliasQueryRequest) throws(ProviderFailure) {
        try writeField(query.app)
        try writeField(query.columns)
        try writeCursor(query.cursor)
    }

    mutating func write(_ page: AliasPage) throws(ProviderFailure) {
        writeInteger(page.changeCount)
        try writeField(page.columns)
        try writeList(page.rows) { (bytes, row) throws(ProviderFailure) in try bytes.writeField(row) }
        try writeCursor(page.nextCursor)
    }

    mutating func write(_ request: AliasChoiceRequest) throws(ProviderFailure) {
        try writeField(request.app)
        try write(text: request.alias)
        try writeField(request.keyTypes)
        try writeList(request.issuers) { (bytes, issuer) throws(ProviderFailure) in
            try bytes.writeField(octets: issuer)
        }
        try write(text: request.host)
        try writeOptional(request.port) { (bytes, port) throws(ProviderFailure) in bytes.writeInteger(port) }
    }

    mutating func write(_ choice: AliasChoice) throws(ProviderFailure) {
        try write(text: choice.alias)
        try write(text: choice.reason)
    }

    private mutating func write(text: String?) throws(ProviderFailure) {
        try writeOptional(text) { (bytes, text) throws(ProviderFailure) in try bytes.writeField(text) }
    }
}
