@testable import TokenClient

/// The PKCS #11 module's decoder of the provider's replies: a frame, by its type.
enum ModuleTarget {
    static func test(_ input: [UInt8]) {
        guard input.count > 9 else { return }
        var reader = ReplyReader(input[9...])
        switch input[4] {
        case 0x94: _ = try? TokenState(&reader)
        case 0x95:
            guard let page = try? TokenIdentityPage(&reader), (try? reader.end()) != nil else { return }
            var size = 0
            for identity in page.identities {
                // The lengths of signatures and buffers are derived from it.
                precondition((1...16_384).contains(identity.keyBits))
                size += identity.certificate.count + identity.subject.count + identity.issuer.count
                size += identity.publicKeyInfo.count + identity.keyID.count
            }
            precondition(size < input.count)
        case 0x96:
            guard let state = try? LoginState(&reader) else { return }
            precondition([0, 16].contains(state.ticket.count))
        default: break
        }
    }
}
