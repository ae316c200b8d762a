package import SecretMemory
internal import COpenSSL
internal import Synchronization

/// A private key that is held outside OpenSSL, such as a persistent token's key.
package protocol ExternalPrivateKey: Sendable {
    /// The public half: an RSA key, or a key on a named curve.
    var publicKey: PublicKey { get }

    /// Performs an operation with the private half, and returns its result.
    ///
    /// OpenSSL calls this method synchronously, on the thread that performs the operation. The method must not call
    /// OpenSSL with the `PrivateKey` that wraps this key.
    ///
    /// - Returns: The result; nil if the data cannot be decrypted.
    func result(of use: PrivateKeyUse) throws -> SecretBytes?
}

/// An error of an external key that can mean that the app may use other keys of the same holder, but not this one.
package protocol ExternalKeyError: Error {
    /// Whether only this key is unavailable.
    var concernsOnlyThisKey: Bool { get }
}

extension PrivateKey {
    /// Creates a key whose private half is external. OpenSSL holds only the public half, and calls `external` for
    /// operations with the private half.
    ///
    /// The key can be used like a loaded key, except that ``pkcs8()`` fails. `CMSEnvelope.decrypt` and
    /// `CMSSignature.sign` rethrow the errors of `external`; other functions throw an `OpenSSLError` instead.
    ///
    /// - Throws: `CertificateError`: `unsupportedKey` for another type of key, `malformedKey` if OpenSSL cannot load
    ///   the public key.
    package init(_ external: any ExternalPrivateKey) throws(CertificateError) {
        let publicKey = external.publicKey
        guard publicKey.isLoadable else {
            throw CertificateError(
                .costlyKey(oid: ""),
                "the key is rejected: operations with a key this large could take too long")
        }
        let datum = unsafe Unmanaged.passRetained(KeyMethods.Datum(external))
        let octets = publicKey.keyOctets
        let key = unsafe octets.withUnsafeBufferPointer { octets -> OpaquePointer? in
            switch publicKey.type {
            case .rsa:
                unsafe keysharing_rsa_key(
                    octets.baseAddress, octets.count, KeyMethods.rsa.pointer, KeyMethods.rsa.index,
                    datum.toOpaque())
            case .ec(let curve):
                unsafe keysharing_ec_key(
                    Self.identifier(ofCurve: curve), octets.baseAddress, octets.count,
                    KeyMethods.ec.pointer, KeyMethods.ec.index, datum.toOpaque())
            default: nil
            }
        }
        guard let key = unsafe key else {
            unsafe datum.release()
            let name = publicKey.type.name
            switch publicKey.type {
            case .rsa, .ec:
                throw .draining(.malformedKey, "using an external key of the kind \(name)")
            default:
                throw CertificateError(
                    .unsupportedKey(oid: ""), "external keys of the kind \(name) are not supported")
            }
        }
        unsafe self.init(adopting: key)
    }

    private static func identifier(ofCurve name: String) -> CInt {
        let identifier = unsafe EC_curve_nist2nid(name)
        return identifier != 0 ? identifier : unsafe OBJ_txt2nid(name)
    }

    /// Runs an operation with keys that may be external.
    ///
    /// - Throws: The first error that an external key threw, instead of the resulting OpenSSL error; otherwise the
    ///   errors of `body`.
    static func rethrowingExternalErrors<Result>(_ body: () throws -> Result) throws -> Result {
        let failures = KeyMethods.Failures()
        let result = Swift.Result { try KeyMethods.$failures.withValue(failures, operation: body) }
        if let failure = failures.first {
            OpenSSLError.discardQueue()
            throw failure
        }
        return try result.get()
    }
}

/// The callbacks through which OpenSSL uses external keys (`RSA_METHOD`, `EC_KEY_METHOD`).
enum KeyMethods {
    /// The application data of a C key, which contains the external key. The C key and each copy of it retain this
    /// object.
    final class Datum: Sendable {
        let key: any ExternalPrivateKey

        init(_ key: any ExternalPrivateKey) { self.key = key }
    }

    /// Stores the first error that an external key throws during an operation, because a C callback can return only a
    /// number.
    final class Failures: Sendable {
        private let stored = Mutex<(any Error)?>(nil)

        var first: (any Error)? { stored.withLock { $0 } }

        func record(_ error: any Error) { stored.withLock { $0 = $0 ?? error } }
    }

    /// Collects the errors of the operation that the current task performs; nil outside `rethrowingExternalErrors`.
    @TaskLocal static var failures: Failures?

    /// A C method table, and the index at which keys with this table store their datum. Both exist until the process
    /// ends.
    ///
    /// `@unchecked Sendable`: neither the pointer nor the method table changes after creation.
    @safe struct Method: @unchecked Sendable {
        let pointer: OpaquePointer?
        let index: CInt

        /// - Parameters:
        ///   - pointer: The C method table.
        ///   - kind: `CRYPTO_EX_INDEX_RSA` or `CRYPTO_EX_INDEX_EC_KEY`.
        init(_ pointer: OpaquePointer?, kind: CInt) {
            unsafe self.pointer = pointer
            index = unsafe CRYPTO_get_ex_new_index(kind, 0, nil, nil) { _, _, datum, _, _, _ in
                if let copied = unsafe datum?.pointee {
                    unsafe _ = Unmanaged<Datum>.fromOpaque(copied).retain()
                }
                return 1
            } _: { _, datum, _, _, _, _ in
                if let datum = unsafe datum { unsafe Unmanaged<Datum>.fromOpaque(datum).release() }
            }
        }
    }

    static let rsa = unsafe Method(
        keysharing_rsa_method(signRSA, encryptRSA, decryptRSA), kind: CRYPTO_EX_INDEX_RSA)
    static let ec = unsafe Method(keysharing_ec_method(signECDSA, agree), kind: CRYPTO_EX_INDEX_EC_KEY)

    /// Performs an operation with the external key in `datum`, and records an error that it throws.
    ///
    /// - Returns: The result; nil if the key threw an error, could not decrypt the data, or returned a result of the
    ///   wrong length.
    private static func result(
        _ datum: UnsafeMutableRawPointer?, _ use: PrivateKeyUse, hasLength: (Int) -> Bool
    ) -> SecretBytes? {
        guard let datum = unsafe datum else { return nil }
        let key = unsafe Unmanaged<Datum>.fromOpaque(datum).takeUnretainedValue().key
        do {
            guard let result = try key.result(of: use) else { return nil }
            guard hasLength(result.count) else {
                throw OpenSSLError(
                    operation: "using an external key, which returned \(result.count) bytes", queue: [])
            }
            return result
        } catch {
            failures?.record(error)
            return nil
        }
    }

    // MARK: - Callbacks from OpenSSL

    private static let signRSA: keysharing_rsa_sign = { digest, input, count, output, outputCount, key in
        let algorithm = DigestAlgorithm.allCases.first { unsafe EVP_MD_get_type($0.pointer) == digest }
        let bytes = unsafe Array(UnsafeBufferPointer(start: input, count: Int(count)))
        guard let algorithm, bytes.count == algorithm.byteCount, let output = unsafe output else { return 0 }
        let size = unsafe Int(keysharing_rsa_size(key))
        let signature = unsafe result(
            keysharing_rsa_datum(key, rsa.index), .signRSA(bytes, .pkcs1(algorithm))
        ) { $0 == size }
        guard let signature else { return 0 }
        unsafe outputCount?.pointee = CUnsignedInt(signature.copy(to: output))
        return 1
    }

    private static let encryptRSA: keysharing_rsa_transform = { count, input, output, key, padding in
        guard let output = unsafe output, let padding = RSAPadding(transforming: padding) else { return -1 }
        let bytes = unsafe Array(UnsafeBufferPointer(start: input, count: Int(count)))
        let size = unsafe Int(keysharing_rsa_size(key))
        let signature = unsafe result(keysharing_rsa_datum(key, rsa.index), .signRSA(bytes, padding)) {
            $0 == size
        }
        return signature.map { unsafe CInt($0.copy(to: output)) } ?? -1
    }

    private static let decryptRSA: keysharing_rsa_transform = { count, input, output, key, padding in
        guard let output = unsafe output, let padding = RSAPadding(transforming: padding) else { return -1 }
        let bytes = unsafe Array(UnsafeBufferPointer(start: input, count: Int(count)))
        let size = unsafe Int(keysharing_rsa_size(key))
        let plaintext = unsafe result(
            keysharing_rsa_datum(key, rsa.index), .decryptRSA(bytes, padding)
        ) { padding == .none ? $0 == size : $0 <= size - 11 }
        // The reason for a decryption failure is never revealed (RFC 8017, 7.2.2), not even in OpenSSL's queue.
        return plaintext.map { unsafe CInt($0.copy(to: output)) } ?? -1
    }

    private static let signECDSA: keysharing_ec_sign = { _, input, count, output, outputCount, _, _, key in
        guard let output = unsafe output else { return 0 }
        let digest = unsafe Array(UnsafeBufferPointer(start: input, count: Int(count)))
        let size = unsafe Int(keysharing_ec_signature_size(key))
        let signature = unsafe result(keysharing_ec_datum(key, ec.index), .signECDSA(digest)) {
            (1...size).contains($0)
        }
        guard let signature else { return 0 }
        unsafe outputCount?.pointee = CUnsignedInt(signature.copy(to: output))
        return 1
    }

    private static let agree: keysharing_ec_agree = { output, outputCount, point, key in
        // The longest encoded point of OpenSSL's curves has two coordinates of 72 bytes.
        var octets = [UInt8](repeating: 0, count: 145)
        let count = unsafe keysharing_ec_point(key, point, &octets, octets.count)
        let size = unsafe Int(keysharing_ec_secret_size(key))
        guard count > 0 else { return 0 }
        let secret = unsafe result(
            keysharing_ec_datum(key, ec.index), .agree(Array(octets.prefix(count)))
        ) { $0 == size }
        // OpenSSL wipes and frees this memory.
        guard let secret, let memory = unsafe CRYPTO_malloc(size, nil, 0) else { return 0 }
        let bytes = unsafe memory.assumingMemoryBound(to: UInt8.self)
        unsafe outputCount?.pointee = unsafe secret.copy(to: bytes)
        unsafe output?.pointee = bytes
        return 1
    }
}

extension RSAPadding {
    /// The padding that OpenSSL requests from a method; nil for paddings that OpenSSL applies itself.
    ///
    /// OpenSSL 3.2 and later, and older versions of some distributions, use the number 8 for PKCS #1 v1.5 in CMS. It
    /// means that invalid padding is an error, and is not replaced by a random result.
    fileprivate init?(transforming padding: CInt) {
        switch padding {
        case RSA_PKCS1_PADDING, 8: self = .pkcs1(nil)
        case RSA_NO_PADDING: self = .none
        default: return nil
        }
    }
}

extension SecretBytes {
    /// Copies the bytes to `output`, which must have room for them, and returns the number of bytes.
    fileprivate func copy(to output: UnsafeMutablePointer<UInt8>) -> Int {
        unsafe withUnsafeBytes { bytes in
            if let start = bytes.baseAddress {
                unsafe UnsafeMutableRawPointer(output).copyMemory(from: start, byteCount: bytes.count)
            }
            return bytes.count
        }
    }
}
