internal import KeySharing

extension Item {
    /// The size of the item's strings, in bytes.
    var wireSize: Int {
        identifier.utf8.count + filename.utf8.count + contentType.utf8.count + parent.utf8.count
    }
}

extension IdentitySummary {
    /// The size of the identity's strings, in bytes.
    var wireSize: Int {
        let names = [details?.subject, details?.commonName, details?.email, details?.edipi]
        return label.utf8.count + serialNumber.utf8.count + names.reduce(0) { $0 + ($1?.utf8.count ?? 0) }
    }
}
