import Foundation
import OpenSSL
import StandardExtensions

/// A revocation list: the fields in their encoded form (RFC 5280 5.1), and the parsed list.
struct EncodedList: Sendable {
    /// The entry of one revoked certificate, in its encoded form.
    struct Entry: Sendable {
        /// The content octets of the serial number's INTEGER.
        let serial: [UInt8]
        let extensions: [EncodedExtension]

        init?(_ element: DERElement) {
            let fields = element.children
            guard fields.count >= 2, fields[0].tag == .integer, !fields[0].octets.isEmpty else { return nil }
            serial = Array(fields[0].octets)
            extensions = fields.count > 2 ? fields[2].children.compactMap(EncodedExtension.init) : []
        }

        func item(_ oid: String) -> EncodedExtension? { extensions.first { $0.oid == oid } }

        /// The code of the revocation reason; nil if the entry has no reason. `Int.max` if the code is not one octet.
        var reason: Int? {
            guard let value = item(ExtensionType.reason)?.element, value.tag == .enumerated else {
                return nil
            }
            return value.octets.count == 1 ? value.octets.first.map(Int.init) : .max
        }

        var name: String { serial.prefix(24).upperHex }
    }

    let list: CertificateRevocationList
    let date: Date
    /// Whether the encoding could be read; false if it is not DER or is too large.
    let isDER: Bool
    /// The encoded version number, which is 1 for version 2; nil if it is absent.
    private(set) var version: Int?
    private(set) var innerAlgorithm: EncodedAlgorithm?
    private(set) var outerAlgorithm: EncodedAlgorithm?
    private(set) var times: [EncodedTime] = []
    private(set) var extensions: [EncodedExtension] = []
    private(set) var entries: [Entry] = []
    private(set) var hasEmptyEntries = false

    /// The maximum size of a list whose encoding is examined, in bytes.
    static let largest = 4 << 20

    init(_ list: CertificateRevocationList, at date: Date) {
        self.list = list
        self.date = date
        guard list.der.count <= Self.largest, let outer = DERElement(list.der)?.children, outer.count == 3
        else {
            isDER = false
            return
        }
        isDER = true
        outerAlgorithm = EncodedAlgorithm(outer[1])
        var fields = outer[0].children[...]
        if let first = fields.first, first.tag == .integer {
            version = first.octets.count == 1 ? first.octets.first.map(Int.init) : .max
            fields.removeFirst()
        }
        innerAlgorithm = EncodedAlgorithm(fields.popFirst())
        fields = fields.dropFirst()
        while let time = fields.first.flatMap(EncodedTime.init) {
            times.append(time)
            fields.removeFirst()
        }
        if let revoked = fields.first, revoked.tag == .sequence {
            let items = revoked.children
            hasEmptyEntries = items.isEmpty
            entries = items.compactMap(Entry.init)
            fields.removeFirst()
        }
        if let wrapped = fields.first, wrapped.tag == .context(0) {
            extensions = (wrapped.children.first?.children ?? []).compactMap(EncodedExtension.init)
        }
    }

    var isVersion2: Bool { version == 1 }

    func item(_ oid: String) -> EncodedExtension? { extensions.first { $0.oid == oid } }

    /// Whether an entry names its own certificate issuer, as in an indirect list.
    var isIndirect: Bool { entries.contains { $0.item(ExtensionType.certificateIssuer) != nil } }

    /// Whether the issuing distribution point has the flag of an indirect list (RFC 5280 5.2.5).
    var hasIndirectFlag: Bool {
        let fields = item(ExtensionType.issuingDistributionPoint)?.element?.children ?? []
        return fields.contains { $0.tag == .context(4) && $0.octets != [0] }
    }

    /// Returns a message for each entry that fulfils a condition, up to the limit of findings.
    func entries(where condition: (Entry) -> Bool, _ message: String) -> [String] {
        entries.lazy.filter(condition).prefix(LintRule<EncodedList>.mostFindings).map {
            "the entry \($0.name): \(message)"
        }
    }
}
