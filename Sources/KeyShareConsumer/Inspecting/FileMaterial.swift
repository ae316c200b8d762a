package import OpenSSL
internal import SecretMemory

/// Certificates, keys, revocation lists, OCSP responses and messages in one file in PEM, DER or PKCS #7.
package struct FileMaterial: Sendable {
    /// The certificates, in file order.
    package var certificates: [Certificate] = []
    /// The revocation lists, in file order.
    package var lists: [CertificateRevocationList] = []
    /// The OCSP responses, in file order.
    package var responses: [StatusResponse] = []
    /// The private keys, in file order. Encrypted keys stay encrypted.
    package var privateKeys: [PrivateKeyFile] = []
    /// The public keys without a certificate, in file order.
    package var publicKeys: [PublicKey] = []
    /// The CMS messages, in file order. A structure that only contains certificates and lists is not a message.
    package var messages: [CMSDescription] = []
    /// The errors of private keys that cannot be used, if the file also has other contents.
    package var keyErrors: [CertificateError] = []

    /// The maximum number of objects in one file.
    static let mostItems = 10_000
    /// The maximum size of a private or public key in DER.
    static let largestKey = 64 << 10

    /// The number of objects.
    package var count: Int {
        certificates.count + lists.count + responses.count + privateKeys.count + publicKeys.count
            + messages.count
    }

    /// Creates material from certificates only.
    init(certificates: [Certificate] = []) { self.certificates = certificates }

    /// Reads PEM text. Blocks with other labels, and text around blocks, are skipped.
    ///
    /// - Throws: `missing` if there is no supported block, `malformed` or `trailingBytes` for a damaged object, the error
    ///   of a key if the text contains nothing else.
    init(pem text: [UInt8]) throws(CertificateError) {
        let labels = Self.certificateLabels.union(Self.bundleLabels).union(PrivateKeyFile.labels)
            .union(["X509 CRL", "OCSP RESPONSE", "PUBLIC KEY"])
        let blocks = try PEM.blocks(text, labelled: labels)
        guard !blocks.isEmpty else {
            throw CertificateError(
                .missing, "the text contains no certificate, key, revocation list or OCSP response in PEM")
        }
        guard blocks.count <= Self.mostItems else {
            throw CertificateError(.overLimit, "the text contains more than \(Self.mostItems) objects")
        }
        // Traditional encryption of PEM (RFC 1421) leaves no structure in the block.
        let isEncrypted = text.firstRange(of: Array("Proc-Type: 4,ENCRYPTED".utf8)) != nil
        for block in blocks { try add(block, isEncrypted: isEncrypted) }
        if count == 0, let error = keyErrors.first { throw error }
    }

    private static let certificateLabels: Set<String> = ["CERTIFICATE", "X509 CERTIFICATE"]
    private static let bundleLabels: Set<String> = ["PKCS7", "PKCS #7 SIGNED DATA", "CMS"]

    private mutating func add(_ block: PEM.Block, isEncrypted: Bool) throws(CertificateError) {
        switch block.label {
        case "X509 CRL": lists.append(try CertificateRevocationList(der: block.der))
        case "OCSP RESPONSE": responses.append(try StatusResponse(der: block.der))
        case "PUBLIC KEY": publicKeys.append(try PublicKey(spki: block.der))
        case let label where Self.certificateLabels.contains(label):
            certificates.append(try Certificate(der: block.der))
        case let label where Self.bundleLabels.contains(label):
            do throws(CertificateError) {
                try add(try CertificateBundle(der: block.der, mostItems: Self.mostItems))
                addMessage(block.der)
            } catch {
                guard addMessage(block.der) else { throw error }
            }
        default:
            do throws(CertificateError) {
                if let key = try PrivateKeyFile(der: SecretBytes(block.der)) {
                    privateKeys.append(key)
                } else if isEncrypted, block.label != "PRIVATE KEY" {
                    privateKeys.append(.encrypted(scheme: nil, nil))
                } else {
                    throw CertificateError(.malformedKey, "a private key cannot be decoded")
                }
            } catch {
                keyErrors.append(error)
            }
        }
    }

    /// Adds a message if the bytes are one with recipients or signatures; otherwise returns false.
    @discardableResult
    private mutating func addMessage(_ der: [UInt8]) -> Bool {
        guard let message = try? CMSDescription(der: der),
            message.kind != .signedData || !message.signers.isEmpty
        else { return false }
        messages.append(message)
        return true
    }

    /// Reads a message in DER or BER, with the certificates and lists in it.
    ///
    /// - Throws: `CMSError` if the bytes are not a message.
    init(message der: [UInt8]) throws {
        let message = try CMSDescription(der: der)
        messages = [message]
        certificates = message.certificates
        lists = message.encodedLists.compactMap { try? CertificateRevocationList(der: $0) }
    }

    private mutating func add(_ bundle: CertificateBundle) throws(CertificateError) {
        certificates += bundle.certificates
        for list in bundle.encodedLists { lists.append(try CertificateRevocationList(der: list)) }
    }

    /// Reads one object in DER; nil if the bytes are not such an object.
    ///
    /// - Returns: The material, and whether it was in PKCS #7.
    static func der(_ bytes: [UInt8]) -> (material: FileMaterial, isBundle: Bool)? {
        var material = FileMaterial()
        if let certificate = try? Certificate(der: bytes) {
            material.certificates = [certificate]
        } else if let list = try? CertificateRevocationList(der: bytes) {
            material.lists = [list]
        } else if let response = try? StatusResponse(der: bytes) {
            material.responses = [response]
        } else if let bundle = try? CertificateBundle(der: bytes, mostItems: mostItems),
            (try? material.add(bundle)) != nil, material.count > 0
        {
            material.addMessage(bytes)
            return (material, true)
        } else if bytes.count <= largestKey, let key = try? PublicKey(spki: bytes) {
            material.publicKeys = [key]
        } else if bytes.count <= largestKey, let key = try? PrivateKeyFile(der: SecretBytes(bytes)) {
            material.privateKeys = [key]
        } else {
            return nil
        }
        return (material, false)
    }
}
