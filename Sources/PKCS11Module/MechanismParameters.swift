internal import CPKCS11
internal import KeyShareProtocol
internal import TokenClient

/// A mechanism's parameters, copied from the caller's memory.
enum MechanismParameters: Sendable {
    case none
    case pss(digest: PKCS11Digest, mask: PKCS11Digest, saltLength: Int)
    case oaep(digest: PKCS11Digest, mask: PKCS11Digest, label: [UInt8])
    case ecdh(derivation: PKCS11Digest?, sharedInfo: [UInt8], point: [UInt8])

    /// The maximum length of a label, of shared information or of a point, in bytes.
    private static let longest = 4_096

    /// Reads the parameters of a mechanism.
    ///
    /// - Throws: CKR_MECHANISM_PARAM_INVALID.
    init(_ mechanism: PKCS11Mechanism, _ passed: CK_MECHANISM) throws(Refusal) {
        let (pointer, length) = unsafe (passed.pParameter, passed.ulParameterLen)
        switch mechanism.scheme {
        case .rsaPKCS, .rsaRaw, .rsaPKCSMessage, .ecdsa, .ecdsaMessage, .digest:
            guard length == 0 else { throw Self.invalid("\(mechanism.name) has no parameters") }
            self = .none
        case .pss: self = unsafe try Self.pss(pointer, length, nil)
        case .pssMessage(let digest): self = unsafe try Self.pss(pointer, length, digest)
        case .oaep: self = unsafe try Self.oaep(pointer, length)
        case .ecdh: self = unsafe try Self.ecdh(pointer, length)
        }
    }

    private static func pss(
        _ pointer: CK_VOID_PTR?, _ length: CK_ULONG, _ expected: PKCS11Digest?
    ) throws(Refusal) -> MechanismParameters {
        let passed = unsafe try read(pointer, length, as: CK_RSA_PKCS_PSS_PARAMS.self)
        guard let digest = PKCS11Digest(mechanism: passed.hashAlg), digest == expected ?? digest else {
            throw invalid("the PSS digest is not the mechanism's digest")
        }
        guard let mask = PKCS11Digest(mask: passed.mgf) else {
            throw invalid("the PSS mask generation function is unknown")
        }
        // The key is not known here. A salt that is too long for it is rejected when the operation is prepared.
        guard passed.sLen <= 2_048 else { throw invalid("the PSS salt is too long") }
        return .pss(digest: digest, mask: mask, saltLength: Int(passed.sLen))
    }

    private static func oaep(_ pointer: CK_VOID_PTR?, _ length: CK_ULONG) throws(Refusal)
        -> MechanismParameters
    {
        let passed = unsafe try read(pointer, length, as: CK_RSA_PKCS_OAEP_PARAMS.self)
        guard let digest = unsafe PKCS11Digest(mechanism: passed.hashAlg),
            let mask = unsafe PKCS11Digest(mask: passed.mgf)
        else {
            throw invalid("the OAEP digest or mask generation function is unknown")
        }
        let count = unsafe passed.ulSourceDataLen
        // If the label is empty, many callers set the source to 0.
        guard unsafe passed.source == CKZ_DATA_SPECIFIED || (passed.source == 0 && count == 0) else {
            throw invalid("the source of the OAEP label is unknown")
        }
        let label = unsafe try octets(passed.pSourceData?.assumingMemoryBound(to: UInt8.self), count)
        return .oaep(digest: digest, mask: mask, label: label)
    }

    private static func ecdh(_ pointer: CK_VOID_PTR?, _ length: CK_ULONG) throws(Refusal)
        -> MechanismParameters
    {
        let passed = unsafe try read(pointer, length, as: CK_ECDH1_DERIVE_PARAMS.self)
        let derivation = unsafe PKCS11Digest(derivation: passed.kdf)
        guard unsafe derivation != nil || passed.kdf == CKD_NULL else {
            throw invalid("the key derivation function is unknown")
        }
        let sharedInfo = unsafe try octets(passed.pSharedData, passed.ulSharedDataLen)
        guard derivation != nil || sharedInfo.isEmpty else {
            throw invalid("shared data requires a key derivation function")
        }
        let point = unsafe try octets(passed.pPublicData, passed.ulPublicDataLen)
        guard !point.isEmpty else { throw invalid("the other public key is missing") }
        return .ecdh(derivation: derivation, sharedInfo: sharedInfo, point: point)
    }

    private static func read<Value: BitwiseCopyable>(
        _ pointer: CK_VOID_PTR?, _ length: CK_ULONG, as type: Value.Type
    ) throws(Refusal) -> Value {
        guard let pointer = unsafe pointer, length == CK_ULONG(MemoryLayout<Value>.size) else {
            throw invalid("the length of the parameters is not that of their structure")
        }
        return unsafe pointer.loadUnaligned(as: type)
    }

    private static func octets(_ pointer: UnsafeMutablePointer<UInt8>?, _ count: CK_ULONG) throws(Refusal)
        -> [UInt8]
    {
        guard count > 0 else { return [] }
        guard let pointer = unsafe pointer, count <= CK_ULONG(longest) else {
            throw invalid("a part of the parameters is missing or too long")
        }
        return unsafe Array(UnsafeBufferPointer(start: pointer, count: Int(count)))
    }

    private static func invalid(_ reason: String) -> Refusal { Refusal(CKR_MECHANISM_PARAM_INVALID, reason) }
}

extension ActiveKeyOperation {
    /// Prepares a key operation from a mechanism, its parameters and a key.
    ///
    /// - Throws: CKR_MECHANISM_PARAM_INVALID if the parameters do not fit the key, CKR_MECHANISM_INVALID if the
    ///   mechanism does not perform this operation.
    init(
        _ operation: TokenOperation, _ mechanism: PKCS11Mechanism, _ parameters: MechanismParameters,
        _ object: PKCS11Object, _ identity: TokenCertificate
    ) throws(Refusal) {
        guard mechanism.operations.contains(operation) else {
            throw Refusal(CKR_MECHANISM_INVALID, "\(mechanism.name) does not support this operation")
        }
        let size = (identity.keyBits + 7) / 8
        let isSigning = operation == .sign
        var algorithm: String
        var wireParameters: [KeyUse.Parameter] = []
        var resultLimit = mechanism.isForRSA ? size : 2 * size
        var dataLimit: Int? = isSigning ? nil : size
        var dataLength: Int? = isSigning ? nil : size
        switch mechanism.scheme {
        case .rsaPKCS:
            algorithm = isSigning ? "RSASignatureDigestPKCS1v15Raw" : "RSAEncryptionPKCS1"
            if isSigning { dataLimit = size - 11 } else { resultLimit = max(0, size - 11) }
        case .rsaRaw:
            (algorithm, dataLimit) = (isSigning ? "RSASignatureRaw" : "RSAEncryptionRaw", size)
        case .rsaPKCSMessage(let digest): algorithm = "RSASignatureMessagePKCS1v15" + digest.rawValue
        case .ecdsa:
            algorithm = "ECDSASignatureRFC4754"
            dataLimit = 1_024
        case .ecdsaMessage(let digest):
            algorithm = "ECDSASignatureMessageX962" + digest.rawValue
            // Form 1 is the concatenation of the signature's two integers (RFC 4754).
            wireParameters.append(KeyUse.Parameter(.signatureForm, [1]))
        case .pss, .pssMessage:
            guard case .pss(let digest, let mask, let saltLength) = parameters else {
                throw Refusal(CKR_MECHANISM_PARAM_INVALID)
            }
            let isDigest = mechanism.scheme == .pss
            algorithm = (isDigest ? "RSASignatureDigestPSS" : "RSASignatureMessagePSS") + digest.rawValue
            wireParameters = try Self.pssParameters(digest, mask, saltLength, keyBits: identity.keyBits)
            if isDigest { (dataLimit, dataLength) = (digest.length, digest.length) }
        case .oaep:
            guard case .oaep(let digest, let mask, let label) = parameters else {
                throw Refusal(CKR_MECHANISM_PARAM_INVALID)
            }
            guard size >= 2 * digest.length + 2 else {
                throw Refusal(CKR_MECHANISM_PARAM_INVALID, "the key is too short for this digest")
            }
            algorithm = "RSAEncryptionOAEP" + digest.rawValue
            resultLimit = size - 2 * digest.length - 2
            wireParameters = Self.maskParameter(mask, digest)
            if !label.isEmpty { wireParameters.append(KeyUse.Parameter(.label, label)) }
        case .ecdh(let isCofactor):
            (algorithm, wireParameters) = try Self.keyExchange(parameters, isCofactor: isCofactor)
            resultLimit = size
        case .digest:
            throw Refusal(CKR_MECHANISM_INVALID, "\(mechanism.name) uses no key")
        }
        self.init(
            use: KeyUse(
                objectID: identity.objectID, operation: operation, algorithm: algorithm,
                parameters: wireParameters),
            mechanism: mechanism, object: object, resultLimit: resultLimit, dataLimit: dataLimit,
            dataLength: dataLength)
    }

    /// Returns the provider's algorithm for a key exchange, and its parameters.
    private static func keyExchange(
        _ parameters: MechanismParameters, isCofactor: Bool
    ) throws(Refusal) -> (algorithm: String, parameters: [KeyUse.Parameter]) {
        guard case .ecdh(let derivation, let sharedInfo, _) = parameters else {
            throw Refusal(CKR_MECHANISM_PARAM_INVALID)
        }
        let algorithm =
            "ECDHKeyExchange" + (isCofactor ? "Cofactor" : "Standard")
            + (derivation.map { "X963" + $0.rawValue } ?? "")
        return (algorithm, sharedInfo.isEmpty ? [] : [KeyUse.Parameter(.sharedInfo, sharedInfo)])
    }

    /// Returns the PSS parameters that differ from the provider's defaults.
    private static func pssParameters(
        _ digest: PKCS11Digest, _ mask: PKCS11Digest, _ saltLength: Int, keyBits: Int
    ) throws(Refusal) -> [KeyUse.Parameter] {
        // The encoded message must have room for the digest, the salt and two bytes (RFC 8017, 9.1.1).
        guard (keyBits + 6) / 8 >= digest.length + saltLength + 2 else {
            throw Refusal(CKR_MECHANISM_PARAM_INVALID, "the key is too short for this salt and digest")
        }
        let salt =
            saltLength == digest.length
            ? [] : [KeyUse.Parameter(.saltLength, UInt16(clamping: saltLength))]
        return salt + maskParameter(mask, digest)
    }

    /// Returns the parameter for the mask's digest; empty if it is the same as the message's digest.
    private static func maskParameter(_ mask: PKCS11Digest, _ digest: PKCS11Digest) -> [KeyUse.Parameter] {
        mask == digest ? [] : [KeyUse.Parameter(.maskDigest, Array(mask.rawValue.utf8))]
    }
}
