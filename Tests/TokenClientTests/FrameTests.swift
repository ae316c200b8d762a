import Foundation
import KeyShareProtocol
import KeyShareWire
import OpenSSL
import PersistentToken
import SecretMemory
import TestSupport
import Testing

@testable import TokenClient

/// The module encodes frames itself. The tests compare them with the golden frames of `KeyShareWire`.
@Suite("The frames of the PKCS #11 module's client", .timeLimit(.minutes(10)))
struct FrameTests {
    private static func frame(_ name: String) throws -> [UInt8] {
        try #require(try WireSamples.vectors(of: 2)[name], "\(name) has no vector")
    }

    private static func body(_ name: String) throws -> ReplyReader { ReplyReader(try frame(name)[9...]) }

    private static func bytes(_ request: TokenRequest, id: UInt32) -> [UInt8] {
        var request = request
        request.setID(id)
        return request.frame
    }

    @Test("Requests are encoded to the same bytes that the encoder of `KeyShareWire` returns")
    func requests() throws {
        let use = KeyUse(
            objectID: WireSamples.identifier, operation: .sign, algorithm: "ECDSASignatureMessageX962SHA256")
        #expect(try Self.bytes(.use(use, data: Array("abc".utf8)), id: 17) == Self.frame("use"))
        var concatenated = use
        concatenated.parameters = [KeyUse.Parameter(.signatureForm, [1])]
        #expect(
            try Self.bytes(.use(concatenated, data: Array("abc".utf8)), id: 25)
                == Self.frame("use-concatenated"))
        let begun = KeyUse(
            objectID: WireSamples.identifier, operation: .sign, algorithm: "RSASignatureMessagePSSSHA384",
            parameters: [KeyUse.Parameter(.saltLength, UInt16(0))])
        #expect(try Self.bytes(.useBegin(begun), id: 19) == Self.frame("use-begin"))
        #expect(
            try Self.bytes(.useUpdate(handle: 1 << 31, data: [0, 0xFF]), id: 20) == Self.frame("use-update")
        )
        var withTicket = use
        withTicket.parameters = [KeyUse.Parameter(.ticket, WireSamples.ticket)]
        #expect(
            try Self.bytes(.use(withTicket, data: Array("abc".utf8)), id: 29) == Self.frame("use-ticket"))
        #expect(try Self.bytes(.tokenLogin(.state), id: 26) == Self.frame("token-login-state"))
        #expect(try Self.bytes(.tokenLogin(.presence), id: 27) == Self.frame("token-login-presence"))
        let passcode = SecretBytes(utf8: "123456")
        #expect(try Self.bytes(.tokenLogin(.passcode(passcode)), id: 28) == Self.frame("token-login"))
        #expect(try Self.bytes(.useEnd(handle: 1), id: 21) == Self.frame("use-end"))
        #expect(try Self.bytes(.tokenStatus, id: 23) == Self.frame("token-status"))
        #expect(try Self.bytes(.tokenObjects(cursor: "7:2"), id: 24) == Self.frame("token-objects"))
        let hello = ProviderRequest.hello(
            Hello(minimumVersion: 2, maximumVersion: 2, clientName: "example", services: []))
        #expect(try Self.bytes(.hello(clientName: "example"), id: 1) == WireSamples.bytes(hello, id: 1))
    }

    @Test("All parameters are encoded in ascending order of their numbers")
    func parameters() throws {
        let use = KeyUse(
            objectID: WireSamples.identifier, operation: .keyExchange,
            algorithm: "algid:keyexchange:ECDH:KDFX963:SHA256",
            parameters: [
                KeyUse.Parameter(.label, [4, 5]), KeyUse.Parameter(.maskDigest, Array("SHA1".utf8)),
                KeyUse.Parameter(.saltLength, UInt16(20)), KeyUse.Parameter(.sharedInfo, [1, 2]),
                KeyUse.Parameter(.requestedSize, UInt32(40)),
            ])
        let request = ProviderRequest.use(
            TokenUse(
                objectID: WireSamples.identifier, operation: .keyExchange, algorithm: use.algorithm,
                parameters: KeyOperationParameters(
                    requestedSize: 40, sharedInfo: [1, 2], saltLength: 20, maskDigest: .sha1, label: [4, 5]),
                data: [4, 0xFF]))
        #expect(try Self.bytes(.use(use, data: [4, 0xFF]), id: 18) == WireSamples.bytes(request, id: 18))
    }

    @Test("Replies are decoded to the same values that the decoder of `KeyShareWire` returns")
    func replies() throws {
        var reader = try Self.body("token-status-reply")
        let state = try TokenState(&reader)
        try reader.end()
        #expect(state.changeCount == 7 && state.tokenCount == 3 && state.isUnlocked && state.lockCount == 2)
        #expect(state.deviceSerial == "0123456789ABCDEF")
        reader = try Self.body("token-login-reply")
        let login = try LoginState(&reader)
        try reader.end()
        #expect(login.mode == .pin && login.hasPasscode && login.triesLeft == 3)
        #expect(login.ticket == WireSamples.ticket)
        reader = try Self.body("token-login-none")
        #expect(try LoginState(&reader).ticket.isEmpty)
        reader = try Self.body("token-objects-always")
        #expect(try TokenIdentityPage(&reader).identities.map(\.asksAlways) == [true])
        reader = try Self.body("token-objects-reply")
        let page = try TokenIdentityPage(&reader)
        try reader.end()
        #expect(page.changeCount == 7 && page.holder == "1234567890" && page.nextCursor == "7:256")
        #expect(page.identities.count == WireSamples.tokenObjects.count)
        for (identity, object) in zip(page.identities, WireSamples.tokenObjects) {
            #expect(identity.objectID == object.objectID && identity.label == object.label)
            #expect(identity.keyID == object.keyID && identity.certificate == object.certificate)
            #expect(identity.subject == object.subject && identity.issuer == object.issuer)
            #expect(
                identity.serialNumber == object.serialNumber && identity.publicKeyInfo == object.publicKeyInfo
            )
            #expect(identity.checkValue == object.checkValue && identity.keyBits == object.keyBits)
            #expect(identity.notBefore == object.notBefore && identity.notAfter == object.notAfter)
            #expect(
                identity.canSign == object.properties.canSign
                    && identity.canDecrypt == object.properties.canDecrypt)
            #expect(identity.canDerive == object.properties.canPerformKeyExchange)
            #expect(identity.hasKey == object.hasKey && identity.isAuthority == object.isAuthority)
            switch (identity.key, object.key) {
            case (.rsa(let modulus, let exponent), .rsa(let first, let second)):
                #expect(modulus == first && exponent == second)
            case (.ec(let parameters, let point), .ec(let first, let second)):
                #expect(parameters == first && point == second)
            default: Issue.record("the key is of another kind")
            }
        }
    }

    @Test("A reply that is truncated anywhere, or has an extra byte, is malformed")
    func cutReplies() throws {
        for name in [
            "token-status-reply", "token-objects-reply", "token-objects-empty", "token-login-reply",
        ] {
            let body = Array(try Self.frame(name)[9...])
            for count in 0..<body.count {
                #expect(throws: TokenClientError.self, "\(name), \(count)") {
                    try Self.read(name, body[..<count])
                }
            }
            #expect(throws: TokenClientError.self) { try Self.read(name, body + [0]) }
            #expect(throws: Never.self) { try Self.read(name, body[...]) }
        }
    }

    private static func read(_ name: String, _ body: ArraySlice<UInt8>) throws {
        var reader = ReplyReader(body)
        switch name {
        case "token-status-reply": _ = try TokenState(&reader)
        case "token-login-reply": _ = try LoginState(&reader)
        default: _ = try TokenIdentityPage(&reader)
        }
        try reader.end()
    }

    private static func read(_ name: String, _ body: [UInt8]) throws { try read(name, body[...]) }

    private static func page(_ body: [UInt8]) throws -> TokenIdentityPage {
        var reader = ReplyReader(body[...])
        let page = try TokenIdentityPage(&reader)
        try reader.end()
        return page
    }

    @Test("A reply with one changed byte is either rejected or read as a different value")
    func changedReplies() throws {
        let body = Array(try Self.frame("token-objects-reply")[9...])
        let original = try Self.page(body)
        for place in body.indices {
            for value: UInt8 in [0, 1, 0x7F, 0x80, 0xFF] {
                var changed = body
                changed[place] = value
                guard let page = try? Self.page(changed) else { continue }
                #expect((page == original) == (changed == body), "byte \(place), value \(value)")
            }
        }
    }
}
