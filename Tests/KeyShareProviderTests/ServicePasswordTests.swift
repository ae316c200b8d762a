import SecretMemory
import OpenSSL
import Testing

@testable import KeyShareProvider

@Suite("The passwords a provider makes")
struct ServicePasswordTests {
    private func text(_ password: SecretBytes) -> String {
        unsafe password.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
    }

    @Test("are 32 printable characters for the service, 20 letters and digits for the pasteboard")
    func alphabets() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            let service = text(ServicePassword.random(using: &random))
            #expect(service.count == 32)
            #expect(service.utf8.allSatisfy { (0x21...0x7E).contains($0) })
            let legacy = text(ServicePassword.legacy(using: &random))
            #expect(legacy.count == 20)
            #expect(legacy.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) })
        }
    }

    @Test("use the whole alphabet and never repeat")
    func variety() {
        var random = SystemRandomNumberGenerator()
        let passwords = (0..<200).map { _ in text(ServicePassword.random(using: &random)) }
        #expect(Set(passwords).count == passwords.count)
        #expect(Set(passwords.joined()).count == 94)
    }
}
