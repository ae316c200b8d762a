internal import KeyShareProtocol
internal import NIOCore
internal import PersistentToken

// The encodings of the feature `token-objects`, which `Protocol.md` describes under "Objects for PKCS #11".

/// The boolean properties of an object, as the bits of one byte.
private struct ObjectTraits: OptionSet {
    let rawValue: UInt8

    static let canSign = ObjectTraits(rawValue: 1 << 0)
    static let canDecrypt = ObjectTraits(rawValue: 1 << 1)
    static let canDerive = ObjectTraits(rawValue: 1 << 2)
    static let hasKey = ObjectTraits(rawValue: 1 << 3)
    static let isAuthority = ObjectTraits(rawValue: 1 << 4)
    static let asksAlways = ObjectTraits(rawValue: 1 << 5)
    static let all: ObjectTraits = [
        .canSign, .canDecrypt, .canDerive, .hasKey, .isAuthority, .asksAlways,
    ]
}

extension FieldReader {
    mutating func tokenObjectPage() throws(ProviderFailure) -> TokenObjectPage {
        let changeCount = try integer("the change count", as: UInt64.self)
        let holder = try string("the holder")
        let objects = try list("the objects", smallest: 42) { (reader) throws(ProviderFailure) in
            try reader.tokenObject()
        }
        return TokenObjectPage(
            changeCount: changeCount, holder: holder, objects: objects, nextCursor: try cursor())
    }

    private mutating func tokenObject() throws(ProviderFailure) -> TokenObject {
        let objectID = try identifier("the object")
        let label = try string("the label")
        let keyID = try bytes("the key's identifier")
        let certificate = try bytes("the certificate")
        let (subject, issuer) = (try bytes("the subject"), try bytes("the issuer"))
        let serialNumber = try bytes("the serial number")
        let publicKeyInfo = try bytes("the public key")
        let checkValue = try bytes("the check value")
        let notBefore = Int64(bitPattern: try integer("the start of the validity", as: UInt64.self))
        let notAfter = Int64(bitPattern: try integer("the end of the validity", as: UInt64.self))
        let kind = try integer("the kind of key", as: UInt8.self)
        let bits = Int(try integer("the size of the key", as: UInt16.self))
        let (first, second) = (try bytes("the key's first part"), try bytes("the key's second part"))
        let key: TokenObject.Key
        switch kind {
        case 1: key = .rsa(modulus: first, exponent: second)
        case 2: key = .ec(parameters: first, point: second)
        default: throw ProviderFailure(.malformed, "the kind of key \(kind) is unknown")
        }
        let traits = ObjectTraits(rawValue: try integer("the properties"))
        guard ObjectTraits.all.isSuperset(of: traits) else {
            throw ProviderFailure(.malformed, "an object has an unknown property")
        }
        return TokenObject(
            objectID: objectID, label: label, keyID: keyID, certificate: certificate, subject: subject,
            issuer: issuer, serialNumber: serialNumber, publicKeyInfo: publicKeyInfo, checkValue: checkValue,
            notBefore: notBefore, notAfter: notAfter, key: key, keyBits: bits,
            properties: TokenKeyProperties(
                canSign: traits.contains(.canSign), canDecrypt: traits.contains(.canDecrypt),
                canPerformKeyExchange: traits.contains(.canDerive)),
            hasKey: traits.contains(.hasKey), isAuthority: traits.contains(.isAuthority),
            asksAlways: traits.contains(.asksAlways))
    }
}

extension ByteBuffer {
    mutating func write(_ page: TokenObjectPage) throws(ProviderFailure) {
        writeInteger(page.changeCount)
        try writeField(page.holder)
        try writeList(page.objects) { (bytes, object) throws(ProviderFailure) in try bytes.write(object) }
        try writeCursor(page.nextCursor)
    }

    private mutating func write(_ object: TokenObject) throws(ProviderFailure) {
        try writeField(object.objectID)
        try writeField(object.label)
        try writeField(octets: object.keyID)
        try writeField(octets: object.certificate)
        try writeField(octets: object.subject)
        try writeField(octets: object.issuer)
        try writeField(octets: object.serialNumber)
        try writeField(octets: object.publicKeyInfo)
        try writeField(octets: object.checkValue)
        writeInteger(object.notBefore)
        writeInteger(object.notAfter)
        let (kind, first, second): (UInt8, [UInt8], [UInt8])
        switch object.key {
        case .rsa(let modulus, let exponent): (kind, first, second) = (1, modulus, exponent)
        case .ec(let parameters, let point): (kind, first, second) = (2, parameters, point)
        }
        writeInteger(kind)
        writeInteger(UInt16(clamping: object.keyBits))
        try writeField(octets: first)
        try writeField(octets: second)
        var traits: ObjectTraits = []
        if object.properties.canSign { traits.insert(.canSign) }
        if object.properties.canDecrypt { traits.insert(.canDecrypt) }
        if object.properties.canPerformKeyExchange { traits.insert(.canDerive) }
        if object.hasKey { traits.insert(.hasKey) }
        if object.isAuthority { traits.insert(.isAuthority) }
        if object.asksAlways { traits.insert(.asksAlways) }
        writeInteger(traits.rawValue)
    }
}
