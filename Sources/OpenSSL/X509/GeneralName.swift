internal import Diagnostics
internal import COpenSSL
internal import Foundation
internal import StandardExtensions

/// A GeneralName, which appears in subject alternative names and name constraints (RFC 5280, 4.2.1.6).
package enum GeneralName: Sendable, Hashable {
    /// An e-mail address.
    case rfc822Name(String)
    /// A host name.
    case dNSName(String)
    /// A URI, such as the `urn:uuid:` of a PIV card.
    case uniformResourceIdentifier(String)
    /// A distinguished name.
    case directoryName(DistinguishedName)
    /// An IP address of 4 or 16 octets; in a name constraint it is followed by a mask of that length.
    case iPAddress([UInt8])
    /// An object identifier, in dotted notation.
    case registeredID(String)
    /// A name of a kind that is not in the standard; `type` is its dotted object identifier.
    case otherName(type: String, value: OtherNameValue)
    /// An X.400 address or an EDI party name, in DER.
    case other(der: [UInt8])

    /// The otherName type of a user principal name, whose value is a UTF8String (Microsoft's
    /// `szOID_NT_PRINCIPAL_NAME`).
    package static let userPrincipalNameType = "1.3.6.1.4.1.311.20.2.3"
    /// The otherName type of a FASC-N, whose value is an OCTET STRING (FIPS 201-3, `pivFASC-N`).
    package static let fascnType = "2.16.840.1.101.3.6.6"

    /// Returns the name for a user principal name such as `5557779001@mil`.
    package static func userPrincipalName(_ name: String) -> GeneralName {
        .otherName(type: userPrincipalNameType, value: .utf8String(name))
    }

    /// Returns the name for the FASC-N of a PIV card.
    package static func fascn(_ number: FASCN) -> GeneralName {
        .otherName(type: fascnType, value: .octetString(number.octets))
    }
}

extension GeneralName {
    /// The FASC-N in the name; nil for other names, and for a FASC-N that cannot be decoded.
    package var fascn: FASCN? {
        guard case .otherName(Self.fascnType, .octetString(let octets)) = self else { return nil }
        return FASCN(octets: octets)
    }
}

/// The value of an otherName, by its ASN.1 type.
package enum OtherNameValue: Sendable, Hashable {
    /// A UTF8String.
    case utf8String(String)
    /// An OCTET STRING.
    case octetString([UInt8])
    /// A value of any other type, in DER.
    case other(der: [UInt8])
}

extension GeneralName: CustomStringConvertible {
    /// The kind and the name in readable form: `UPN:5557779001@mil`, `FASC-N:9700-1618-…`.
    ///
    /// Characters that could control a terminal are escaped. A FASC-N that cannot be decoded is shown as octets and
    /// marked as damaged.
    package var description: String {
        switch self {
        case .rfc822Name(let name): "email:" + name.visible
        case .dNSName(let name): "DNS:" + name.visible
        case .uniformResourceIdentifier(let name): "URI:" + name.visible
        case .directoryName(let name): "DirName:\(name)"
        case .iPAddress(let octets): "IP:" + Self.address(octets)
        case .registeredID(let identifier): "RID:" + identifier
        case .otherName(Self.userPrincipalNameType, .utf8String(let name)): "UPN:" + name.visible
        case .otherName(Self.fascnType, .octetString(let octets)):
            "FASC-N:" + (FASCN(octets: octets)?.description ?? octets.upperHex + " (damaged)")
        case .otherName(let type, .utf8String(let text)): "\(type):" + text.visible
        case .otherName(let type, .octetString(let octets)): "\(type):#" + octets.upperHex
        case .otherName(let type, .other(let der)): "\(type):#" + der.upperHex
        case .other(let der): "#" + der.upperHex
        }
    }

    /// An IP address in its usual notation (inet_ntop(3)); `#` and hexadecimal digits if its length is neither IPv4's
    /// nor IPv6's.
    private static func address(_ octets: [UInt8]) -> String {
        guard octets.count == 4 || octets.count == 16 else { return "#" + octets.upperHex }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = octets.count == 4 ? AF_INET : AF_INET6
        guard unsafe inet_ntop(family, octets, &text, socklen_t(text.count)) != nil else {
            return "#" + octets.upperHex
        }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

extension GeneralName {
    /// Copies a C name (`GENERAL_NAME`), which the caller still owns.
    init(reading name: UnsafeMutablePointer<GENERAL_NAME>) {
        var kind: CInt = -1
        let value = unsafe GENERAL_NAME_get0_value(name, &kind)
        let string = unsafe value.map { unsafe UnsafePointer($0.assumingMemoryBound(to: ASN1_STRING.self)) }
        switch kind {
        case GEN_EMAIL: self = unsafe .rfc822Name(OpenSSLASN1.text(string))
        case GEN_DNS: self = unsafe .dNSName(OpenSSLASN1.text(string))
        case GEN_URI: self = unsafe .uniformResourceIdentifier(OpenSSLASN1.text(string))
        case GEN_IPADD: self = unsafe .iPAddress(OpenSSLASN1.octets(string))
        case GEN_DIRNAME:
            self = unsafe .directoryName(DistinguishedName(reading: value.map(OpaquePointer.init)))
        case GEN_RID: self = unsafe .registeredID(OpenSSLASN1.dotted(value.map(OpaquePointer.init)))
        case GEN_OTHERNAME: self = unsafe Self.otherName(name)
        default: self = unsafe .other(der: OpenSSLASN1.der(name) { unsafe i2d_GENERAL_NAME($0, $1) })
        }
    }

    private static func otherName(_ name: UnsafeMutablePointer<GENERAL_NAME>) -> GeneralName {
        var type: OpaquePointer?
        var value: UnsafeMutablePointer<ASN1_TYPE>?
        guard unsafe GENERAL_NAME_get0_otherName(name, &type, &value) == 1, let value = unsafe value else {
            return unsafe .other(der: OpenSSLASN1.der(name) { unsafe i2d_GENERAL_NAME($0, $1) })
        }
        let string = unsafe UnsafePointer(value.pointee.value.asn1_string)
        let content: OtherNameValue =
            switch unsafe value.pointee.type {
            case V_ASN1_UTF8STRING: unsafe .utf8String(OpenSSLASN1.text(string))
            case V_ASN1_OCTET_STRING: unsafe .octetString(OpenSSLASN1.octets(string))
            default: unsafe .other(der: OpenSSLASN1.der(value) { unsafe i2d_ASN1_TYPE($0, $1) })
            }
        return unsafe .otherName(type: OpenSSLASN1.dotted(type), value: content)
    }

    /// Creates a C name (`GENERAL_NAME`), which the caller frees.
    ///
    /// - Throws: `unencodable` for an e-mail address, host name or URI that is not ASCII, and for text that is not an
    ///   object identifier; `malformed` or `trailingBytes` for DER that cannot be decoded.
    func makePointer() throws(CertificateError) -> UnsafeMutablePointer<GENERAL_NAME> {
        if case .other(let der) = self {
            return unsafe try OpenSSLASN1.decode(der, as: "a general name") {
                unsafe d2i_GENERAL_NAME(nil, $0, $1)
            } free: {
                unsafe GENERAL_NAME_free($0)
            }
        }
        guard let name = unsafe GENERAL_NAME_new() else { throw .draining(.unencodable, "writing a name") }
        do throws(CertificateError) {
            unsafe try fill(name)
        } catch {
            unsafe GENERAL_NAME_free(name)
            throw error
        }
        return unsafe name
    }

    /// Writes this name into the empty `name`, which the caller still owns.
    private func fill(_ name: UnsafeMutablePointer<GENERAL_NAME>) throws(CertificateError) {
        switch self {
        case .rfc822Name(let text): unsafe GENERAL_NAME_set0_value(name, GEN_EMAIL, try Self.ascii(text))
        case .dNSName(let text): unsafe GENERAL_NAME_set0_value(name, GEN_DNS, try Self.ascii(text))
        case .uniformResourceIdentifier(let text):
            unsafe GENERAL_NAME_set0_value(name, GEN_URI, try Self.ascii(text))
        case .iPAddress(let octets):
            let address = unsafe try OpenSSLASN1.string(V_ASN1_OCTET_STRING, octets)
            unsafe GENERAL_NAME_set0_value(name, GEN_IPADD, address)
        case .registeredID(let identifier):
            let object = unsafe try OpenSSLASN1.object(identifier)
            unsafe GENERAL_NAME_set0_value(name, GEN_RID, UnsafeMutableRawPointer(object))
        case .directoryName(let directory):
            unsafe try directory.withPointer { (pointer: OpaquePointer) throws(CertificateError) in
                unsafe GENERAL_NAME_set0_value(
                    name, GEN_DIRNAME, X509_NAME_dup(pointer).map(UnsafeMutableRawPointer.init))
            }
        case .otherName(let type, let content):
            let value = unsafe try content.makePointer()
            do throws(CertificateError) {
                unsafe GENERAL_NAME_set0_othername(name, try OpenSSLASN1.object(type), value)
            } catch {
                unsafe ASN1_TYPE_free(value)
                throw error
            }
        case .other: break
        }
    }

    /// Creates an IA5String with `text`, which the caller frees.
    private static func ascii(_ text: String) throws(CertificateError) -> UnsafeMutablePointer<ASN1_STRING> {
        guard text.utf8.allSatisfy({ $0 < 0x80 }) else {
            throw CertificateError(.unencodable, "\u{201C}\(text.visible)\u{201D} is not ASCII")
        }
        return unsafe try OpenSSLASN1.string(V_ASN1_IA5STRING, text.utf8)
    }
}

extension OtherNameValue {
    /// Creates a C value (`ASN1_TYPE`), which the caller frees.
    fileprivate func makePointer() throws(CertificateError) -> UnsafeMutablePointer<ASN1_TYPE> {
        if case .other(let der) = self {
            return unsafe try OpenSSLASN1.decode(der, as: "an otherName's value") {
                unsafe d2i_ASN1_TYPE(nil, $0, $1)
            } free: {
                unsafe ASN1_TYPE_free($0)
            }
        }
        guard let value = unsafe ASN1_TYPE_new() else { throw .draining(.unencodable, "writing a value") }
        do throws(CertificateError) {
            switch self {
            case .utf8String(let text):
                let string = unsafe try OpenSSLASN1.string(V_ASN1_UTF8STRING, text.utf8)
                unsafe ASN1_TYPE_set(value, V_ASN1_UTF8STRING, string)
            case .octetString(let octets):
                let string = unsafe try OpenSSLASN1.string(V_ASN1_OCTET_STRING, octets)
                unsafe ASN1_TYPE_set(value, V_ASN1_OCTET_STRING, string)
            case .other: break
            }
        } catch {
            unsafe ASN1_TYPE_free(value)
            throw error
        }
        return unsafe value
    }
}

extension [GeneralName] {
    /// Creates C names (`GENERAL_NAMES`), which the caller frees.
    ///
    /// - Throws: `unencodable`, `malformed` or `trailingBytes` for a name that cannot be written.
    func makePointer() throws(CertificateError) -> OpaquePointer {
        guard let names = unsafe GENERAL_NAMES_new() else { throw .draining(.unencodable, "writing names") }
        do throws(CertificateError) {
            for name in self { unsafe OPENSSL_sk_push(names, try name.makePointer()) }
        } catch {
            unsafe GENERAL_NAMES_free(names)
            throw error
        }
        return unsafe names
    }
}
