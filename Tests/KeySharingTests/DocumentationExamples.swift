import Foundation
import KeySharing
import Testing

/// The examples in the documentation of `KeySharing`. The compiler checks them, and the tests check their results.
///
/// `DocumentationTests` ensures that every example of a doc comment or an article is in this file, line by line. The
/// module is imported without `@testable`, so examples can use only the public API.
@Suite("The examples of the documentation", .timeLimit(.minutes(10)))
struct DocumentationExamples {
    private let identity = IdentitySummary(
        label: String(repeating: "0A", count: 32), serialNumber: "048F",
        notBefore: Date(timeIntervalSince1970: 1_700_000_000),
        facts: CertificateFacts(keyUsage: .digitalSignature, hasUTF8OtherName: true))

    /// Two signature identities, the older one first, and an authentication identity.
    private var identities: [IdentitySummary] {
        let facts = CertificateFacts(keyUsage: [.digitalSignature, .nonRepudiation])
        return [1, 2].map { year in
            IdentitySummary(
                label: String(repeating: "\(year)B", count: 32), serialNumber: "0\(year)",
                notBefore: Date(timeIntervalSince1970: Double(year) * 31_557_600), facts: facts)
        } + [identity]
    }

    private var items: [Item] {
        [
            .file(identity, under: .keySharing2025),
            .file(identities[1], in: .signature, under: .keySharing2025),
        ]
    }

    @Test("The documentation example for Mechanism returns the documented results")
    func mechanism() {
        let owner = Mechanism(owning: "purebred2025.zip.all")  // .keySharing2025
        let shared = Mechanism(owning: SystemType.pkcs12)  // nil: a system type belongs to either
        let types = Mechanism.legacy.requestableTypes  // 15 identifiers
        #expect(owner == .keySharing2025 && shared == nil && types.count == 15)
    }

    @Test("The documentation example for SystemType creates a request")
    func systemType() throws {
        let request = try TypeRequest([SystemType.pkcs12], under: .keySharing2025)
        #expect(request.keySharing2025Decision(for: items[1]).isEnabled)
    }

    @Test("The documentation example for IdentitySelector returns the documented results")
    func selector() {
        let selector = IdentitySelector.authentication
        let types = [selector.selectType(under: .keySharing2025), selector.companionType]
        let folder = selector.folderName  // "PIV"
        let zip = IdentitySelector(zipName: "PIV.zip")  // .authentication
        #expect(types == ["purebred2025.select.authentication", "purebred2025.select.authentication-p12"])
        #expect(folder == "PIV" && zip == .authentication)
    }

    @Test("The documentation example for Selection returns the documented result")
    func selection() {
        var selection = IdentitySelector.signature.selection(under: .keySharing2025)
        selection.formUnion(IdentitySelector.encryption.selection(under: .keySharing2025))
        let extent = selection.extents[.signature]  // .mostRecent
        #expect(extent == .mostRecent && selection.extents[.encryption] == .everyOne)
    }

    @Test("The documentation example for Membership finds the older signature identity")
    func membership() {
        let decisions = SortedIdentities(identities, under: .keySharing2025)
            .decide(IdentitySelector.signature.selection(under: .keySharing2025))
        let older = decisions.filter { $0.outcome != .member && $0.outcome != .typeNotSelected }
        #expect(older.map(\.identity.serialNumber) == ["01"])
    }

    @Test("The documentation example for SortedIdentities returns the members of a selection")
    func sortedIdentities() {
        let sorted = SortedIdentities(identities, under: .keySharing2025)
        let members = sorted.members(of: IdentitySelector.all.selection(under: .keySharing2025))
        #expect(members.map(\.serialNumber) == ["02", "048F"])
    }

    @Test("The documentation example for Classification returns the documented result")
    func classification() {
        let facts = CertificateFacts(keyUsage: .digitalSignature, hasRFC822Name: true)
        let classification = Classification(facts, under: .keySharing2025)
        let type = classification.type  // .signature
        let because = classification.rule.message
        #expect(type == .signature && because.contains("e-mail"))
    }

    @Test("The documentation example for LegacyRequest returns the documented results")
    func legacyRequest() {
        let request = LegacyRequest(types: ["purebred.select.signature", "purebred.select.no-filter"])
        let shape = request.shape  // .files
        let extent = request.selection.extents[.signature]  // .everyOne, lifted by no-filter
        #expect(shape == .files && extent == .everyOne)
    }

    @Test("The documentation example for TypeRequest selects the items that can be picked")
    func typeRequest() throws {
        let request = try TypeRequest(
            [
                IdentitySelector.signature.selectType(under: .keySharing2025),
                IdentitySelector.signature.companionType,
            ],
            under: .keySharing2025)
        let selectable = items.filter { request.keySharing2025Decision(for: $0).isEnabled }
        #expect(selectable == [items[1]])
    }

    @Test("The documentation example for RequestError suggests the right spelling")
    func requestError() {
        var advice: String?
        do throws(RequestError) {
            _ = try TypeRequest(["purebred2025.select.all_user"], under: .keySharing2025)
        } catch {
            if case .deprecatedSpelling(let modern) = error.code { advice = "ask for \(modern)" }
        }
        #expect(advice == "ask for purebred2025.select.all-user")
    }

    @Test("The documentation example for CredentialType returns the documented results")
    func credentialType() {
        let prefix = CredentialType.authentication.filenamePrefix  // "piv"
        let usage = CredentialType.encryption.expectedKeyUsage(isEllipticCurve: true)  // .keyAgreement
        #expect(prefix == "piv" && usage == .keyAgreement)
    }

    @Test("The documentation example for CertificateFacts returns the documented result")
    func certificateFacts() {
        let facts = CertificateFacts(
            keyUsage: [.digitalSignature, .nonRepudiation], hasRFC822Name: true, hasUTF8OtherName: true)
        let type = Classification(facts, under: .keySharing2025).type  // .signature
        #expect(type == .signature)
    }

    @Test("The documentation example for ClassificationReport returns the documented results")
    func classificationReport() {
        let report = ClassificationReport(CertificateFacts(keyUsage: nil))
        let types = [report.keySharing2025.type, report.legacy.type]  // [.unknown, .device]
        let warnings = report.warnings.map(\.message)
        #expect(types == [.unknown, .device] && warnings.count == 3)
    }

    @Test("The documentation example for IdentitySummary returns the documented result")
    func identitySummary() {
        let identity = IdentitySummary(
            label: String(repeating: "0A", count: 32), serialNumber: "048F",
            notBefore: Date(timeIntervalSince1970: 1_700_000_000),
            facts: CertificateFacts(keyUsage: .digitalSignature, hasUTF8OtherName: true))
        let filename = identity.filename(under: .keySharing2025)  // "piv_048F.p12"
        #expect(filename == "piv_048F.p12")
    }

    @Test("The documentation example for KeyUsage returns the documented result")
    func keyUsage() {
        let usage: KeyUsage = [.digitalSignature, .nonRepudiation]
        let names = usage.names  // ["digitalSignature", "nonRepudiation"]
        #expect(names == ["digitalSignature", "nonRepudiation"])
    }

    @Test("The documentation example for UniformType returns the documented result")
    func uniformType() throws {
        let type = try UniformTypeRegistry.standard.type("purebred2025.select.signature")
        let description = type.description  // "X.509 Signature Certificate"
        #expect(description == "X.509 Signature Certificate")
    }

    @Test("The documentation example for UniformTypeRegistry returns the documented result")
    func uniformTypeRegistry() {
        let registry = UniformTypeRegistry.standard
        let isPKCS12 = registry.conforms(IdentitySelector.all.companionType, to: SystemType.pkcs12)  // true
        #expect(isPKCS12)
    }

    @Test("The documentation example for Item creates a file that its folder's type does not enable")
    func item() throws {
        let file = Item.file(identity, in: .authentication, under: .keySharing2025)
        let folder = Item.folder(.authentication, created: identity.notBefore)
        let request = try TypeRequest([folder.contentType], under: .keySharing2025)
        let decision = request.keySharing2025Decision(for: file)
        #expect(!decision.isEnabled && request.keySharing2025Decision(for: folder).isEnabled)
    }

    @Test("The documentation example for ItemDecision returns the documented results")
    func itemDecision() throws {
        let request = try TypeRequest(["purebred2025.select.signature"], under: .keySharing2025)
        let decision = request.keySharing2025Decision(
            for: .file(identity, in: .signature, under: .keySharing2025))
        let reason = decision.reason  // .companionMissing
        let remedy = decision.missing  // ["purebred2025.select.signature-p12"]
        #expect(reason == .companionMissing && remedy == ["purebred2025.select.signature-p12"])
    }

    @Test("The documentation example for ItemIdentifier returns the documented results")
    func itemIdentifier() {
        let identifier = ItemIdentifier("Encryption.zip")  // .zip(.encryption)
        let text = ItemIdentifier.folder(.authentication).description  // "PIV"
        #expect(identifier == .zip(.encryption) && text == "PIV")
    }

    @Test("The documentation example for IdentityDetails finds the person of the identity")
    func identityDetails() {
        let details = IdentityDetails(
            subject: "CN=EXAMPLE.DANA.1234567890,O=Test U.S. Government,C=US",
            commonName: "EXAMPLE.DANA.1234567890", email: "dana@mail.example", edipi: "1234567890",
            notAfter: Date(timeIntervalSince1970: 1_800_000_000))
        let isDanas = details.names(person: "dana")  // true
        #expect(isDanas)
    }

    @Test("The documentation example for RequestPreset requests two folders and their files")
    func requestPreset() {
        let preset = RequestPreset.named("newest-signature-and-all-encryption")
        let types = preset?.types(under: .keySharing2025)  // two folders and their files
        #expect(types?.count == 4)
    }

    @Test("The documentation example for IdentityLookup finds an identity by its serial number")
    func identityLookup() throws {
        let found = try IdentityLookup.find("048F", in: identities)
        #expect(found.serialNumber == "048F")
    }

    @Test("The documentation example for ItemLookup finds an item by its file name")
    func itemLookup() throws {
        let item = try ItemLookup.match("piv_048F.p12", in: items)
        #expect(item == items[0])
    }

    @Test("The documentation example for Explanation explains why an older identity is absent")
    func explanation() throws {
        let request = try TypeRequest(["purebred2025.zip.signature"], under: .keySharing2025)
        let rows = Explanation.keySharing2025(items: [], identities: identities, request: request)
        let sentences = rows.map { "\($0.identifier): \($0.message)" }
        #expect(sentences.count == 1)
        #expect(sentences.first?.contains("is newer") == true)
    }

    @Test("The example in the article about providers lists the items of two containers")
    func article() {
        let sorted = SortedIdentities(identities, under: .keySharing2025)
        let root = sorted.identities.map { Item.file($0, under: .keySharing2025) }
        let signatures = sorted.members(of: IdentitySelector.signature.selection(under: .keySharing2025))
            .map { Item.file($0, in: .signature, under: .keySharing2025) }
        #expect(root.count == 3 && signatures.map(\.filename) == ["signature_02.p12"])
    }

    @Test("The example in the article about consumers explains a type that was not requested")
    func consumerArticle() throws {
        let request = try TypeRequest(
            [IdentitySelector.signature.selectType(under: .keySharing2025)], under: .keySharing2025)
        for decision in items.map({ request.keySharing2025Decision(for: $0) }) where !decision.isEnabled {
            print(decision.identifier, decision.message, decision.missing)
        }
        #expect(items.allSatisfy { !request.keySharing2025Decision(for: $0).isEnabled })
    }

    @Test("The documentation example for AliasType returns the documented type")
    func aliasType() {
        let type = AliasType(rawValue: "PIV Authentication")  // .pivAuthentication
        #expect(type == .pivAuthentication)
    }

    @Test("The documentation example for AliasClassification returns the documented type and warning")
    func aliasClassification() {
        let facts = CertificateFacts(
            keyUsage: .digitalSignature, alternativeNames: [.otherName(encodedLength: 32)])
        let classification = AliasClassification(facts)
        let type = classification?.type  // .identity
        let warnings = classification?.warnings  // [.identityInsteadOfPIV]
        #expect(type == .identity && warnings == [.identityInsteadOfPIV])
    }

    private var entries: [AliasEntry] {
        [
            AliasEntry(
                alias: "Purebred Recovered #1",
                certificate: AliasEntry.Certificate(
                    der: [0x30, 0x00], type: .encryption, notBefore: .distantPast, notAfter: .distantFuture,
                    keyType: "RSA"))
        ]
    }

    @Test("The documentation example for AliasEntry returns the documented text")
    func aliasEntry() {
        let entry = AliasEntry(
            alias: "Purebred Recovered #1",
            certificate: AliasEntry.Certificate(
                der: [0x30, 0x00], type: .encryption, notBefore: .distantPast, notAfter: .distantFuture))
        let text = entry.certificate?.base64  // "MAA=\n"
        #expect(text == "MAA=\n")
    }

    @Test("The documentation example for AliasQuery returns the documented columns")
    func aliasQuery() throws {
        let query = try AliasQuery(columns: ["type", "alias"])
        let columns = query.columns.map(\.rawValue)  // ["alias", "type"]
        let rows = query.rows(entries)
        #expect(columns == ["alias", "type"] && rows == [["Purebred Recovered #1", "Encryption"]])
    }

    @Test("The documentation example for AliasPick picks every encryption alias")
    func aliasPick() {
        let pick = AliasPick(.decryption, from: entries, at: Date(timeIntervalSince1970: 1_795_305_600))
        let aliases = pick.aliases  // every alias of the type Encryption
        #expect(aliases == ["Purebred Recovered #1"])
    }

    @Test("The documentation example for AliasChooser returns the requested alias")
    func aliasChooser() {
        let chooser = AliasChooser(entries, requesting: "Purebred Recovered #1", keyTypes: ["RSA"])
        let outcome = chooser.outcome(of: .allow)
        let alias = outcome.alias  // nil if the chooser does not offer the requested alias
        #expect(alias == "Purebred Recovered #1")
    }

    @Test("The documentation example for AliasNaming replaces an older identity")
    func aliasNaming() {
        let oldLabel = String(repeating: "00", count: 32)
        let naming = AliasNaming(existing: ["Purebred PIV Authentication Certificate": oldLabel])
        let assignments = naming.assignments(for: identities, includingOlder: false)
        let replaced = assignments.compactMap(\.replacedLabel)
        #expect(assignments.count == 2 && replaced == [oldLabel])
    }

    @Test("The documentation example for AliasBroadcast returns the end of the action string")
    func aliasBroadcast() {
        let ending = AliasBroadcast.updateCompleted.rawValue.suffix(16)  // "UPDATE_COMPLETED"
        #expect(ending == "UPDATE_COMPLETED")
    }
}
