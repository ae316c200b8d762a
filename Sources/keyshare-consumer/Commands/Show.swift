import ArgumentParser
import CommandSupport
import DeviceSimulation
import KeyShareConsumer
import KeySharing
import OpenSSL

struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show everything about one identity of the consumer's keychain.",
        discussion: """
            EXAMPLE:
              keyshare-consumer show 3F1A
            """)

    @Argument(help: "The identity's label, or enough of its start.")
    var label: String

    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let console = output.console
        let store = try ConsumerStore(try device.openDevice())
        let identity = try store.identity(labelled: label)
        let key = try store.privateKey(of: identity.summary.label)
        let document = KeyDetails(identity, key)
        if output.json {
            try console.document(document)
        } else {
            try console.fields(CertificateDocument(identity.certificate).fields + document.fields, indent: "")
        }
    }
}

/// The attributes that a keychain shows of an identity's key.
private struct KeyDetails: Encodable {
    let certificate: CertificateDocument
    let accessible: String
    let accessGroup: String
    let certificateType: String
    let certificateEncoding: String
    let label: String
    let serialNumber: String
    let subjectKeyID: String?
    let publicKeyHash: String
    let keyClass: String
    let applicationLabel: String
    let isPermanent: Bool
    let keyType: String
    let keySizeInBits: Int
    let effectiveKeySize: Int
    let canEncrypt: Bool
    let canDecrypt: Bool
    let canDerive: Bool
    let canSign: Bool
    let canVerify: Bool
    let canWrap: Bool
    let canUnwrap: Bool

    init(_ identity: HeldIdentity, _ key: PrivateKey) {
        let publicKey = identity.certificate.publicKey
        let capabilities = identity.certificate.capabilities(of: .private)
        certificate = CertificateDocument(identity.certificate)
        accessible = identity.accessibility.name
        accessGroup = identity.accessGroup
        certificateType = "X.509 version \(identity.certificate.version)"
        certificateEncoding = "DER"
        label = identity.summary.label
        serialNumber = identity.summary.serialNumber
        subjectKeyID = identity.certificate.subjectKeyIdentifier?.upperHex
        publicKeyHash = publicKey.keyIdentifier.upperHex
        keyClass = "private"
        // The keychain finds a certificate's key by this: the hash of the public key.
        applicationLabel = publicKey.keyIdentifier.upperHex
        isPermanent = true
        keyType = key.type.name
        keySizeInBits = key.bits
        effectiveKeySize = publicKey.effectiveBits
        canEncrypt = capabilities.canEncrypt
        canDecrypt = capabilities.canDecrypt
        canDerive = capabilities.canDerive
        canSign = capabilities.canSign
        canVerify = capabilities.canVerify
        canWrap = capabilities.canWrap
        canUnwrap = capabilities.canUnwrap
    }

    var fields: [(name: String, value: String)] {
        func word(_ flag: Bool) -> String { flag ? "yes" : "no" }
        return [
            (name: "accessible", value: accessible), (name: "access group", value: accessGroup),
            (name: "certificate type", value: certificateType),
            (name: "certificate encoding", value: certificateEncoding),
            (name: "subject key ID", value: subjectKeyID ?? "none"),
            (name: "public key hash", value: publicKeyHash),
            (name: "key class", value: keyClass), (name: "application label", value: applicationLabel),
            (name: "permanent", value: word(isPermanent)), (name: "key type", value: keyType),
            (name: "key size", value: "\(keySizeInBits) bits"),
            (name: "effective key size", value: "\(effectiveKeySize) bits"),
            (name: "can encrypt", value: word(canEncrypt)), (name: "can decrypt", value: word(canDecrypt)),
            (name: "can derive", value: word(canDerive)), (name: "can sign", value: word(canSign)),
            (name: "can verify", value: word(canVerify)), (name: "can wrap", value: word(canWrap)),
            (name: "can unwrap", value: word(canUnwrap)),
        ]
    }
}
