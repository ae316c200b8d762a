internal import Diagnostics
internal import COpenSSL
internal import StandardExtensions

/// A distinguished name, the name of a subject or an issuer (RFC 5280, 4.1.2.4): its bytes and its attributes.
///
/// Two names are equal if their bytes are equal. RFC 5280, 7.1 compares less strictly, for example without regard to
/// case.
package struct DistinguishedName: Sendable {
    /// An attribute of a name, such as a common name or a country.
    package struct Attribute: Sendable, Hashable {
        /// The type: a dotted object identifier in a name that was read. A new name can also use a short name such as
        /// `CN`.
        package let type: String
        /// The value as text. In a name that was read, a longer text is truncated after 1,024 characters and ends in an
        /// ellipsis (``DistinguishedName/largestTextLength``).
        package let value: String

        /// Creates an attribute. `type` is a dotted object identifier, or one of OpenSSL's names for it.
        package init(_ type: String, _ value: String) {
            self.type = type
            self.value = value
        }
    }

    /// The length in Unicode scalars to which the text of an attribute or of an alternative name is truncated.
    ///
    /// The author of a certificate chooses the length of its names, and many text operations, such as comparison, take
    /// more than linear time. RFC 5280, A.1 allows 64 characters for a common name, and at most 256 for other
    /// attributes that are shown to users.
    package static let largestTextLength = 1_024

    /// The DER of the name; empty if OpenSSL cannot encode it.
    package let der: [UInt8]
    /// The relative distinguished names in the order of the encoding, which usually begins with the country. Each is a
    /// set of attributes, and nearly always contains only one.
    package let relativeNames: [[Attribute]]

    /// Creates a name from attributes, given in the order of the encoding. Each becomes a relative distinguished name.
    ///
    /// OpenSSL chooses the string type from the definition of the attribute; otherwise it uses UTF8String.
    ///
    /// - Throws: `unencodable` for an unknown type, and for a value whose length or alphabet the type does not allow.
    package init(_ attributes: [Attribute]) throws(CertificateError) {
        let name = unsafe X509_NAME_new()
        defer { unsafe X509_NAME_free(name) }
        // This is MBSTRING_UTF8, a macro that Swift does not import.
        let utf8 = MBSTRING_FLAG
        for attribute in attributes {
            let value = Array(attribute.value.utf8)
            let added = unsafe X509_NAME_add_entry_by_txt(
                name, attribute.type, utf8, value, CInt(value.count), -1, 0)
            guard added == 1 else {
                throw .draining(.unencodable, "writing '\(attribute.value)' as \(attribute.type)")
            }
        }
        unsafe self.init(reading: name)
    }

    /// Reads a name from its DER.
    ///
    /// - Throws: `malformed` if the bytes are not a name, `trailingBytes` if data follows it.
    package init(der: [UInt8]) throws(CertificateError) {
        let name = unsafe try OpenSSLASN1.decode(der, as: "a name") {
            unsafe d2i_X509_NAME(nil, $0, $1)
        } free: {
            unsafe X509_NAME_free($0)
        }
        defer { unsafe X509_NAME_free(name) }
        unsafe self.init(reading: name)
    }

    /// Copies a C name (`X509_NAME`), which the caller still owns.
    init(reading name: OpaquePointer?) {
        var encoding: UnsafePointer<UInt8>?
        var count = 0
        if unsafe X509_NAME_get0_der(name, &encoding, &count) == 1 {
            der = unsafe Array(UnsafeBufferPointer(start: encoding, count: count))
        } else {
            OpenSSLError.discardQueue()
            der = []
        }
        var relativeNames: [[Attribute]] = []
        var lastSet: CInt = -1
        for index in unsafe 0..<max(0, X509_NAME_entry_count(name)) {
            guard let entry = unsafe X509_NAME_get_entry(name, index) else { continue }
            let attribute = unsafe Attribute(
                OpenSSLASN1.dotted(X509_NAME_ENTRY_get_object(entry)),
                OpenSSLASN1.text(X509_NAME_ENTRY_get_data(entry)))
            let set = unsafe X509_NAME_ENTRY_set(entry)
            if set == lastSet, !relativeNames.isEmpty {
                relativeNames[relativeNames.count - 1].append(attribute)
            } else {
                relativeNames.append([attribute])
            }
            lastSet = set
        }
        self.relativeNames = relativeNames
    }

    /// Calls `body` with a C name (`X509_NAME`), which is freed after the call.
    func withPointer<Result>(
        _ body: (OpaquePointer) throws(CertificateError) -> Result
    ) throws(CertificateError) -> Result {
        let name = unsafe try OpenSSLASN1.decode(der, as: "a name") {
            unsafe d2i_X509_NAME(nil, $0, $1)
        } free: {
            unsafe X509_NAME_free($0)
        }
        defer { unsafe X509_NAME_free(name) }
        return unsafe try body(name)
    }

    /// Whether the name has no attribute. A subject may be empty if the alternative names are critical (RFC 5280,
    /// 4.1.2.6).
    package var isEmpty: Bool { relativeNames.isEmpty }

    /// The last common name in the encoding, which is the most specific; nil if the name contains no common name.
    package var commonName: String? { values(of: "2.5.4.3").last }

    /// The values of all attributes of a type, in the order of the encoding.
    ///
    /// - Parameter type: A dotted object identifier.
    package func values(of type: String) -> [String] {
        relativeNames.joined().filter { $0.type == type }.map(\.value)
    }
}

extension DistinguishedName {
    /// The name on one line in the order of the encoding, as OpenSSL writes it: `/C=US/OU=PKI/CN=A.B.1`. Octets outside
    /// printable ASCII are written as `\xC3`. A longer name is truncated after ``longestOneLineText`` characters.
    package var oneLine: String {
        let text = unsafe try? withPointer { name throws(CertificateError) -> String in
            guard let line = unsafe X509_NAME_oneline(name, nil, 0) else {
                throw .draining(.malformed, "writing a name on one line")
            }
            defer { unsafe CRYPTO_free(line, nil, 0) }
            return unsafe String(cString: line)
        }
        return String((text ?? description).prefix(Self.longestOneLineText))
    }

    /// The maximum length of ``oneLine``, in characters.
    package static let longestOneLineText = 65_536
}

extension DistinguishedName: Hashable {
    package static func == (left: DistinguishedName, right: DistinguishedName) -> Bool {
        left.der == right.der
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(der) }
}

extension DistinguishedName: CustomStringConvertible {
    /// The name as RFC 4514 writes it, with the most specific attribute first: `CN=A.B.1,OU=PKI,C=US`.
    ///
    /// A type that is not in the table of RFC 4514, 3 is shown by OpenSSL's short name, or as a dotted object
    /// identifier. A name with more than ``largestShownAttributeCount`` relative names is truncated, and ends in an
    /// ellipsis.
    package var description: String {
        let shown = relativeNames.reversed().prefix(Self.largestShownAttributeCount)
            .map { attributes in
                let shown = attributes.prefix(Self.largestShownAttributeCount)
                    .map { "\(Self.shortName($0.type))=\(Self.escaped($0.value))" }
                return shown.joined(separator: "+") + (shown.count < attributes.count ? "+\u{2026}" : "")
            }
        return shown.joined(separator: ",") + (shown.count < relativeNames.count ? ",\u{2026}" : "")
    }

    /// The maximum number of relative names, and of attributes in each, that ``description`` shows.
    package static let largestShownAttributeCount = 64

    private static func shortName(_ type: String) -> String {
        switch type {
        case "2.5.4.3": "CN"
        case "2.5.4.6": "C"
        case "2.5.4.7": "L"
        case "2.5.4.8": "ST"
        case "2.5.4.9": "STREET"
        case "2.5.4.10": "O"
        case "2.5.4.11": "OU"
        case "0.9.2342.19200300.100.1.1": "UID"
        case "0.9.2342.19200300.100.1.25": "DC"
        default: otherShortName(type)
        }
    }

    private static func otherShortName(_ type: String) -> String {
        let nid = unsafe OBJ_txt2nid(type)
        guard nid != NID_undef, let name = unsafe OBJ_nid2sn(nid) else {
            OpenSSLError.discardQueue()
            return type
        }
        return unsafe String(cString: name)
    }

    /// Escapes a value as in RFC 4514, 2.4, including characters that could control a terminal.
    private static func escaped(_ value: String) -> String {
        var text = ""
        let scalars = value.unicodeScalars
        // Counting scalars takes time in proportion to the text, so it is done once.
        let last = scalars.count - 1
        for (offset, scalar) in scalars.enumerated() {
            let isEdge = offset == 0 || offset == last
            switch scalar {
            case ",", "+", "\"", "\\", "<", ">", ";": text += "\\"
            case " " where isEdge: text += "\\"
            case "#" where offset == 0: text += "\\"
            default: break
            }
            if scalar.steersTerminal {
                // RFC 4514, 2.4: a backslash and two hexadecimal digits for each octet of UTF-8.
                text += String(scalar).utf8.map { "\\" + [$0].upperHex }.joined()
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
