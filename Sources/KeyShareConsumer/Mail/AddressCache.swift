internal import OpenSSL
internal import SecureMail

/// The addresses in fields and certificates. A message can have a thousand signatures, and all of their signers are
/// compared with the same fields. Use each instance on only one thread.
final class AddressCache {
    private var lists: [[UInt8]: [MailAddress]?] = [:]
    private var certified: [Certificate: (addresses: [MailAddress], set: Set<MailAddress>)] = [:]

    /// The addresses in the value of a field (``MailAddress/list(_:)``).
    func list(_ value: String) -> [MailAddress]? {
        // Comparing strings that are not ASCII takes much longer than comparing bytes.
        let key = Array(value.utf8)
        if let known = lists[key] { return known }
        let addresses = MailAddress.list(value)
        lists[key] = .some(addresses)
        return addresses
    }

    /// The addresses in a certificate (``MailAddress/addresses(in:)``), in order and as a set.
    func addresses(in certificate: Certificate) -> (addresses: [MailAddress], set: Set<MailAddress>) {
        if let known = certified[certificate] { return known }
        let addresses = MailAddress.addresses(in: certificate)
        let entry = (addresses, Set(addresses))
        certified[certificate] = entry
        return entry
    }
}
