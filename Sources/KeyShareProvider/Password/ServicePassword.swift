package import SecretMemory
internal import OpenSSL

/// The passwords that providers make.
package enum ServicePassword {
    /// The service and account of the generic password that holds the provider's one password.
    package static let serviceAndAccount = "PurebredKeySharing"

    /// Thirty-two letters, digits and punctuation marks: about 209 bits.
    package static func random(using random: inout some RandomNumberGenerator) -> SecretBytes {
        make(count: 32, of: letters + digits + punctuation, using: &random)
    }

    /// Twenty letters and digits, about 119 bits: what the legacy mechanism puts on the pasteboard for each
    /// export.
    package static func legacy(using random: inout some RandomNumberGenerator) -> SecretBytes {
        make(count: 20, of: letters + digits, using: &random)
    }

    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
    private static let digits = Array("0123456789".utf8)
    private static let punctuation = Array("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~".utf8)

    private static func make(
        count: Int, of alphabet: [UInt8], using random: inout some RandomNumberGenerator
    ) -> SecretBytes {
        unsafe SecretBytes(capacity: count) { buffer in
            for index in 0..<count {
                unsafe buffer[index] = alphabet[Int.random(in: alphabet.indices, using: &random)]
            }
            return count
        }
    }
}
