import CommandSupport
import DeviceSimulation
import Diagnostics
import Foundation
import OpenSSL
import Scenarios
import SimulatedKeychain
import TestCredentials
import ZipBundles

@testable import CertificateLint
@testable import KeyShareConsumer

extension Limit {
    private static let pkcs12 = PKCS12Limits.standard
    private static let zip = ZipLimits.standard

    /// The limits on files from untrusted sources: PKCS #12, zip, certificates, backups.
    static let files: [Limit] = [
        Limit(
            "author of a PKCS #12 file", asks: "parsing", pays: "a file",
            bound: "\(size(pkcs12.fileSize)); "
                + "at most \(pkcs12.trailingZeroes) zero bytes after the PKCS #12 object",
            "PKCS12Limits.fileSize, .trailingZeroes"),
        Limit(
            "author of a PKCS #12 file", asks: "objects, safes, bags, their attributes, nested safe contents",
            pays: "a few bytes each",
            bound: """
                \(number(PKCS12Limits.objects)) objects, \(number(pkcs12.safes)) safes, \
                \(number(pkcs12.bags)) bags (`--max-bags`), \(number(pkcs12.attributes)) attributes, \
                \(number(pkcs12.nesting)) levels
                """, "PKCS12Limits.objects, .safes, .bags, .attributes, .nesting"),
        Limit(
            "author of a PKCS #12 file", asks: "describing certificates",
            pays: "a few bytes for each name or extension",
            bound: """
                \(number(pkcs12.certificateObjects)) ASN.1 objects in all certificates together; more only with \
                `--max-bags`
                """, "PKCS12Limits.certificateObjects"),
        Limit(
            "author of a PKCS #12 file", asks: "iterations of one key derivation", pays: "four bytes",
            bound: "\(number(pkcs12.iterations)) (`--patience`); more are rejected before the first one",
            "PKCS12Limits.iterations"),
        Limit(
            "author of a PKCS #12 file",
            asks:
                """
                processor time of all key derivations, including retries with other encodings of the password, and of \
                checking private keys with a certificate
                """,
            pays: "a few hundred bytes",
            bound: "\(time(pkcs12.patience)), estimated before each derivation or check (`--patience`)",
            "PKCS12Limits.patience, DerivationWork"),
        Limit(
            "author of an archive", asks: "processor time of all key derivations and checks in all files",
            pays: "a few hundred bytes for each file",
            bound:
                "\(time(pkcs12.archivePatience)), ten times the limit of one file, used in the order of the files",
            "PKCS12Limits.archivePatience"),
        Limit(
            "author of a PKCS #12 file", asks: "memory for scrypt", pays: "four bytes",
            bound: size(pkcs12.scryptMemory), "PKCS12Limits.scryptMemory"),
        Limit(
            "author of a PKCS #12 file", asks: "comparing and printing a name",
            pays: "one byte per character",
            bound: "\(number(pkcs12.friendlyName)) characters, truncated before decoding",
            "PKCS12Limits.friendlyName"),
        Limit(
            "author of a certificate", asks: "comparing and printing a name", pays: "one byte per character",
            bound: """
                \(number(DistinguishedName.largestTextLength)) characters of each attribute, truncated before \
                decoding; \(number(DistinguishedName.largestShownAttributeCount)) attributes are shown
                """, "DistinguishedName.largestTextLength, .largestShownAttributeCount"),
        Limit(
            "author of an archive", asks: "reading the headers of entries", pays: "about 76 bytes per entry",
            bound: "\(number(zip.entryCount)) entries, checked in the end record before any header is read",
            "ZipLimits.entryCount"),
        Limit(
            "author of an archive", asks: "memory and time for contents",
            pays: "a thousandth of the size, because of compression",
            bound: """
                \(size(zip.archiveSize)) for the archive; contents of \(size(zip.entrySize)) per entry and \
                \(size(zip.contentsSize)) in total, counted while reading; an entry of more than \
                \(size(zip.ratioFreeSize)) has at most \(zip.ratio) times its compressed size
                """, "ZipLimits"),
        Limit(
            "author of a backup, or of another device's keychain",
            asks: "running the author's SQL, through a view that replaces a table",
            pays: "a hundred bytes",
            bound:
                "nothing is run: the schema and the pages are compared with the expected ones before a row is read",
            "KeychainSchema"),
        Limit(
            "author of a backup, or of another device's keychain", asks: "steps of SQLite's virtual machine",
            pays: "one page that refers to itself",
            bound: """
                \(number(ForeignDatabaseLimits.stepsPerByte)) per byte of the file, but not less than \
                \(number(ForeignDatabaseLimits.leastSteps))
                """, "ForeignDatabaseLimits.stepsPerByte, .leastSteps"),
        Limit(
            "author of a backup, or of another device's keychain", asks: "memory", pays: "large rows",
            bound:
                "\(size(ForeignDatabaseLimits.rowSize)) per row, \(size(ForeignDatabaseLimits.memory)) in total",
            "ForeignDatabaseLimits.rowSize, .memory"),
        Limit(
            "author of a backup, or of another device's keychain", asks: "comparing names",
            pays: "long names",
            bound: """
                \(number(ForeignDatabaseLimits.nameLength)) bytes per name, \
                \(number(ForeignDatabaseLimits.statementLength)) bytes per statement in the schema
                """, "ForeignDatabaseLimits.nameLength, .statementLength"),
        Limit(
            "author of a file of certificates and keys", asks: "parsing PEM blocks",
            pays: "about 60 bytes each",
            bound: "\(number(FileMaterial.mostItems)) objects; \(size(FileMaterial.largestKey)) per key",
            "FileMaterial.mostItems, .largestKey"),
        Limit(
            "author of an archive, message or profile", asks: "describing certificates (`inspect`)",
            pays: "about ten bytes each",
            bound: "\(number(FileMaterial.mostItems)) in the whole file", "FileMaterial.mostItems"),
        Limit(
            "author of a message, baseline, report or recording", asks: "sorting combining marks",
            pays: "two bytes per mark",
            bound: """
                \(CombiningMarks.most) in a row; JSON with more is rejected, and header fields are converted to the \
                Stream-Safe Text Format
                """, "CombiningMarks.most"),
        Limit(
            "author of a configuration profile", asks: "parsing", pays: "a file",
            bound: """
                \(size(ProfileFile.largest)), \(number(ProfileFile.mostContainers)) lists and mappings; \
                \(number(BoundedPropertyList.mostMarks)) combining marks and character references
                """, "ProfileFile.largest, .mostContainers, BoundedPropertyList.mostMarks"),
        Limit(
            "author of a certificate or a revocation list", asks: "checking its encoding (`inspect`)",
            pays: "the same number of bytes",
            bound: """
                a certificate of \(size(EncodedCertificate.largest)) with \
                \(number(EncodedCertificate.mostExtensions)) extensions, a list of \(size(EncodedList.largest)); \
                more is not examined
                """, "EncodedCertificate.largest, .mostExtensions, EncodedList.largest"),
    ]

    /// The limits on hand-written text for the commands: scenarios, persons, entitlements, passwords.
    static let texts: [Limit] = [
        Limit(
            "author of a scenario", asks: "parsing", pays: "a file",
            bound: "\(size(Scenario.largestFile)), \(number(Scenario.largestValueCount)) values",
            "Scenario.largestFile, .largestValueCount"),
        Limit(
            "author of a list of persons", asks: "parsing", pays: "a file",
            bound: """
                \(size(PersonDescription.largestFile)), \(number(PersonDescription.largestValueCount)) values
                """, "PersonDescription.largestFile, .largestValueCount"),
        Limit(
            "author of a scenario or a list of persons",
            asks: "values that aliases and nested keys expand to",
            pays: "about fifty bytes for each factor of ten",
            bound:
                "none: aliases, and keys that are not strings, are rejected before the text is parsed",
            "YAMLScan"),
        Limit(
            "author of a scenario or a list of persons", asks: "sorting combining marks",
            pays: "two bytes per mark",
            bound: "\(CombiningMarks.most) in a row; \(size(TextBounds.largestText)) per value",
            "TextBounds"),
        Limit(
            "author of entitlements", asks: "parsing nested lists", pays: "seven bytes per level",
            bound: """
                \(size(Entitlements.largestFile)), \(number(Entitlements.mostContainers)) lists, \
                \(number(Entitlements.mostGroups)) groups of each kind
                """, "Entitlements.largestFile, .mostContainers, .mostGroups"),
        Limit(
            "source of a password", asks: "memory", pays: "a file", bound: size(PasswordOptions.largest),
            "PasswordOptions.largest"),
    ]

    /// The limits on data that apps store on the device.
    static let storage: [Limit] = [
        Limit(
            "app", asks: "a keychain item", pays: "the same number of bytes",
            bound: "\(size(Keychain.largestAttribute)) for each attribute and for the secret",
            "Keychain.largestAttribute"),
        Limit(
            "app", asks: "a pasteboard item", pays: "the same number of bytes",
            bound:
                "\(size(Pasteboard.largestItem)), one at a time; erased after \(Int(Pasteboard.standardLifetime)) s",
            "Pasteboard.largestItem, .standardLifetime"),
        Limit(
            "app", asks: "a log entry for reading the pasteboard", pays: "a request",
            bound: "the latest \(number(PasteboardAccess.kept))", "PasteboardAccess.kept"),
    ]
}
