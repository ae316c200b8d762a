import SecretMemory
import COpenSSL
@testable import OpenSSL
import SwiftASN1

/// Writes layers and MACs with OpenSSL's own functions for PKCS #12 and PKCS #5. It shares no code with the module's
/// reader and writer, so it reveals errors that both have in common.
enum LibraryWriter {
    struct Failure: Error, CustomStringConvertible {
        let description: String

        init(_ operation: String) {
            description = "\(OpenSSLError.draining(operation))"
        }
    }

    /// Encrypts a layer with any scheme that OpenSSL's `PKCS12_pbe_crypt_ex` supports.
    static func encrypt(
        _ plaintext: SecretBytes, algorithm: [UInt8], password: String
    ) throws -> EncryptedLayer {
        let parsed = unsafe algorithm.withUnsafeBufferPointer { bytes in
            var cursor = bytes.baseAddress
            return unsafe d2i_X509_ALGOR(nil, &cursor, bytes.count)
        }
        guard let parsed = unsafe parsed else { throw Failure("decoding an AlgorithmIdentifier") }
        defer { unsafe X509_ALGOR_free(parsed) }
        var output: UnsafeMutablePointer<UInt8>?
        var count: CInt = 0
        unsafe plaintext.withUnsafeBytes { input in
            _ = unsafe PKCS12_pbe_crypt_ex(
                parsed, password, CInt(password.utf8.count),
                input.baseAddress?.assumingMemoryBound(to: UInt8.self), CInt(input.count), &output, &count, 1,
                LibraryContext.legacy.pointer, nil)
        }
        guard let output = unsafe output else { throw Failure("encrypting") }
        defer { unsafe CRYPTO_free(output, nil, 0) }
        return unsafe EncryptedLayer(
            algorithm: algorithm,
            ciphertext: Array(UnsafeBufferPointer(start: output, count: Int(count))))
    }

    /// Encrypts a layer with a key that the test derived, for schemes whose primitives are all that OpenSSL supports.
    static func encrypt(
        _ plaintext: SecretBytes, algorithm: [UInt8], cipher name: String, key: [UInt8], vector: [UInt8],
        tagLength: Int? = nil
    ) throws -> EncryptedLayer {
        let cipher = unsafe EVP_CIPHER_fetch(LibraryContext.legacy.pointer, name, nil)
        let context = unsafe EVP_CIPHER_CTX_new()
        defer {
            unsafe EVP_CIPHER_CTX_free(context)
            unsafe EVP_CIPHER_free(cipher)
        }
        var output = [UInt8](repeating: 0, count: plaintext.count + 64)
        var count: CInt = 0
        var last: CInt = 0
        guard unsafe EVP_EncryptInit_ex2(context, cipher, nil, nil, nil) == 1,
            unsafe tagLength == nil
                || EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, CInt(vector.count), nil) == 1,
            unsafe EVP_EncryptInit_ex2(context, nil, key, vector, nil) == 1,
            unsafe plaintext.withUnsafeBytes({ input in
                unsafe EVP_EncryptUpdate(
                    context, &output, &count, input.baseAddress?.assumingMemoryBound(to: UInt8.self),
                    CInt(input.count))
            }) == 1,
            unsafe output.withUnsafeMutableBufferPointer({ buffer in
                unsafe EVP_EncryptFinal_ex(context, buffer.baseAddress.map { unsafe $0 + Int(count) }, &last)
            }) == 1
        else { throw Failure("encrypting with \(name)") }
        var ciphertext = Array(output.prefix(Int(count + last)))
        if let tagLength {
            var tag = [UInt8](repeating: 0, count: tagLength)
            guard unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, CInt(tagLength), &tag) == 1
            else { throw Failure("taking the tag of \(name)") }
            ciphertext += tag
        }
        return EncryptedLayer(algorithm: algorithm, ciphertext: ciphertext)
    }

    /// PBKDF2 (RFC 8018, 5.2).
    static func pbkdf2(
        _ password: String, salt: [UInt8], iterations: Int, digest: String, count: Int
    ) throws -> [UInt8] {
        let algorithm = unsafe EVP_MD_fetch(LibraryContext.legacy.pointer, digest, nil)
        defer { unsafe EVP_MD_free(algorithm) }
        var key = [UInt8](repeating: 0, count: count)
        guard
            unsafe PKCS5_PBKDF2_HMAC(
                password, CInt(password.utf8.count), salt, CInt(salt.count), CInt(iterations), algorithm,
                CInt(count), &key) == 1
        else { throw Failure("PBKDF2 with \(digest)") }
        return key
    }

    /// The derivation of RFC 7292, B.2, from a password in ASCII; `purpose` is the ID of B.3.
    static func pkcs12(
        _ password: String, salt: [UInt8], purpose: CInt, iterations: Int, digest: String, count: Int
    ) throws -> [UInt8] {
        let wide: [UInt8] = password.utf8.flatMap { [0, $0] as [UInt8] } + [0, 0]
        return try pkcs12(
            bytes: wide, salt: salt, purpose: purpose, iterations: iterations, digest: digest, count: count)
    }

    /// The derivation of RFC 7292, B.2, from the octets of the password; `purpose` is the ID of B.3.
    static func pkcs12(
        bytes: [UInt8], salt: [UInt8], purpose: CInt, iterations: Int, digest: String, count: Int
    ) throws -> [UInt8] {
        let algorithm = unsafe EVP_MD_fetch(LibraryContext.legacy.pointer, digest, nil)
        defer { unsafe EVP_MD_free(algorithm) }
        var key = [UInt8](repeating: 0, count: count)
        var (bytes, salt) = (bytes, salt)
        guard
            unsafe PKCS12_key_gen_uni_ex(
                &bytes, CInt(bytes.count), &salt, CInt(salt.count), purpose, CInt(iterations), CInt(count),
                &key, algorithm, LibraryContext.legacy.pointer, nil) == 1
        else { throw Failure("the derivation of PKCS #12 with \(digest)") }
        return key
    }

    /// HMAC (RFC 2104).
    static func hmac(_ message: [UInt8], key: [UInt8], digest: String) throws -> [UInt8] {
        var code = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count = 0
        guard
            unsafe EVP_Q_mac(
                LibraryContext.legacy.pointer, "HMAC", nil, digest, nil, key, key.count, message,
                message.count, &code, code.count, &count) != nil
        else { throw Failure("HMAC with \(digest)") }
        return Array(code.prefix(count))
    }

    /// Returns a copy of `file`, which has no MAC, with a MAC from OpenSSL's `PKCS12_set_mac`.
    static func authenticated(_ file: [UInt8], digest: String, password: String) throws -> [UInt8] {
        var structure = unsafe PKCS12_init_ex(NID_pkcs7_data, LibraryContext.legacy.pointer, nil)
        defer { unsafe PKCS12_free(structure) }
        unsafe file.withUnsafeBufferPointer { bytes in
            var cursor = bytes.baseAddress
            unsafe _ = d2i_PKCS12(&structure, &cursor, bytes.count)
        }
        let algorithm = unsafe EVP_MD_fetch(LibraryContext.legacy.pointer, digest, nil)
        defer { unsafe EVP_MD_free(algorithm) }
        guard
            unsafe PKCS12_set_mac(structure, password, CInt(password.utf8.count), nil, 0, 3, algorithm) == 1
        else { throw Failure("a MAC with \(digest)") }
        var output: UnsafeMutablePointer<UInt8>?
        let count = unsafe i2d_PKCS12(structure, &output)
        defer { unsafe CRYPTO_free(output, nil, 0) }
        return unsafe Array(UnsafeBufferPointer(start: output, count: Int(max(count, 0))))
    }
}
