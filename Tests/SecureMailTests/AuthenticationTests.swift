import OpenSSL
import TestSupport
import Testing

@testable import SecureMail

@Suite("Authentication of messages", .timeLimit(.minutes(10)))
struct AuthenticationTests: MailSuite {
    let scratch: ScratchFolder

    init() throws { scratch = try ScratchFolder() }

    @Test("An altered AES-CBC message remains unauthenticated inside a signature and inside AES-GCM")
    func alteredInside() throws {
        let text = MailWriter.textEntity(String(repeating: "Meet at noon. ", count: 20))
        var der = try CMSEnvelope.encrypt(text, for: [identity.certificate], cipher: .aes256CBC)
        der[der.count - 60] ^= 1
        let altered = base64(der)
        for wrapped in [
            altered, try signed(altered), try encrypted(altered, .aes256GCM),
            try signed(try encrypted(altered, .aes128GCM)), try encrypted(try signed(altered), .aes256GCM),
        ] {
            let opened = try open(wrapped)
            #expect(try content(opened) != text)
            #expect(opened.isUnauthenticated)
        }
    }

    @Test(
        "A signature or AES-GCM as the innermost layer authenticates the content, regardless of outer layers")
    func authenticatedInside() throws {
        let inner = [try signed(body), try encrypted(body, .aes128GCM)]
        for message in inner {
            for wrapped in [
                message, try encrypted(message), try signed(message, boundary: "outer"),
                try signed(try encrypted(message), boundary: "outer"),
            ] {
                #expect(try !open(wrapped).isUnauthenticated)
            }
        }
    }

    @Test("A weak signature does not authenticate the content, and the next outer layer decides")
    func weakSignature() throws {
        let weak = MessageLayer.signed(by: [
            CMSSigner(identity.certificate, weakness: "its digest algorithm is MD5")
        ])
        let strong = MessageLayer.signed(by: [CMSSigner(identity.certificate)])
        let both = MessageLayer.signed(by: [
            CMSSigner(identity.certificate, weakness: "its digest algorithm is MD5"),
            CMSSigner(identity.certificate),
        ])
        let sample = try open(try encrypted(body, .aes128GCM))
        let gcm = try #require(sample.layers.first)
        let cbc = try #require(try open(try encrypted(body)).layers.first)
        func isUnauthenticated(_ layers: [MessageLayer]) -> Bool {
            OpenedMessage(
                content: sample.content, layers: layers, header: nil, sha256: [], part: nil, otherParts: [],
                partLimit: nil
            ).isUnauthenticated
        }
        #expect(isUnauthenticated([weak]))
        #expect(isUnauthenticated([cbc, weak]))
        #expect(!isUnauthenticated([gcm, weak]))
        #expect(!isUnauthenticated([strong, weak]))
        #expect(!isUnauthenticated([both]))
    }
}
