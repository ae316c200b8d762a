internal import CPKCS11
internal import TokenClient

/// The slots that programs see. By default, one slot contains all registrations. If `KEYSHARE_PKCS11_SLOTS` is `token`,
/// each registration has its own slot, because on the device each registration is a separate token. A slot keeps its
/// number as long as the module is initialized.
struct SlotTable: Sendable {
    /// The number of the slot that contains all registrations. If each registration has its own slot but none is known,
    /// this is the only slot, and it is empty.
    static let whole: CK_SLOT_ID = 0

    /// Whether each registration has its own slot.
    let isPerToken: Bool
    /// The registrations in slot 1 and the following slots, in the order of the slots.
    private var objectIDs: [String] = []

    init(isPerToken: Bool) {
        self.isPerToken = isPerToken
    }

    /// Whether the environment variable `KEYSHARE_PKCS11_SLOTS` is `token`: each registration then has its own slot.
    static var environmentIsPerToken: Bool { ProviderPlace.environment("KEYSHARE_PKCS11_SLOTS") == "token" }

    /// The numbers of all slots, in ascending order.
    var all: [CK_SLOT_ID] {
        guard isPerToken, !objectIDs.isEmpty else { return [Self.whole] }
        return objectIDs.indices.map { CK_SLOT_ID($0) + 1 }
    }

    /// Assigns slots to new registrations.
    mutating func update(with catalogue: Catalogue) {
        guard isPerToken else { return }
        let known = Set(objectIDs)
        objectIDs += catalogue.registrations.filter { !known.contains($0) }
    }

    /// Returns the slots whose registrations are in the catalogue; all slots unless each registration has its own.
    func registered(in catalogue: Catalogue) -> Set<CK_SLOT_ID> {
        guard isPerToken else { return Set(all) }
        let current = Set(catalogue.registrations)
        return Set(all.filter { objectID(of: $0).map(current.contains) ?? false })
    }

    /// Returns the registration in a slot; nil for slot 0, and for unknown slots.
    func objectID(of slot: CK_SLOT_ID) -> String? {
        guard isPerToken, slot > 0, slot <= CK_SLOT_ID(objectIDs.count) else { return nil }
        return objectIDs[Int(slot) - 1]
    }

    /// Whether an object is visible in a slot.
    func shows(_ object: PKCS11Object, in slot: CK_SLOT_ID) -> Bool {
        guard isPerToken, let identity = object.identity else { return true }
        return objectID(of: slot) == identity.objectID
    }
}
