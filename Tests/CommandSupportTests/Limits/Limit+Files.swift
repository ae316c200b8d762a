import CommandSupport
import DeviceSimulation
import Foundation
import OpenSSL
import TestCredentials
import ZipBundles

extension Limit {
    private static let pkcs12 = PKCS12Limits.standard
    private static let zip = ZipLimits.standard

    /// Files whose author is anybody: PKCS #12, zip, certificates, backups.
    static let files: [Limit] = [
        Limit(
            "author of a PKCS #12 file", asks: "parsing", pays: "a file",
            bound: "\(size(pkcs12.fileSize)), and \(pkcs12.trailingZeroes) zero bytes behind its object",
            "PKCS12Limits.fileSize, .trailingZeroes"),
        Limit(
            "author of a PKCS #12 file", asks: "safes, bags, safe contents inside safe contents",
            pays: "some bytes for each",
            bound: """
                \(number(pkcs12.safes)) safes, \(number(pkcs12.bags)) bags (`--max-bags`), \
                \(number(pkcs12.nesting)) levels
                """, "PKCS12Limits.safes, .bags, .nesting"),
        Limit(
            "author of a PKCS #12 file", asks: "iterations of one key derivation", pays: "four bytes",
            bound: "\(number(pkcs12.iterations)), refused before the first (`--patience`)",
            "PKCS12Limits.iterations"),
        Limit(
            "author of a PKCS #12 file",
            asks: "processor time of all key derivations, further encodings of the password included",
            pays: "a few hundred bytes",
            bound: "\(time(pkcs12.patience)) as reckoned before each begins (`--patience`)",
            "PKCS12Limits.patience, DerivationWork"),
        Limit(
            "author of an archive", asks: "processor time of all key derivations in all files",
            pays: "a few hundred bytes for each file",
            bound: "\(time(pkcs12.archivePatience)), ten times that of a file; the first files get it",
            "PKCS12Limits.archivePatience"),
        Limit(
            "author of a PKCS #12 file", asks: "memory for scrypt", pays: "four bytes",
            bound: size(pkcs12.scryptMemory), "PKCS12Limits.scryptMemory"),
        Limit(
            "author of a PKCS #12 file", asks: "a name to be compared and shown", pays: "a byte a character",
            bound: "\(number(pkcs12.friendlyName)) characters, cut before they are decoded",
            "PKCS12Limits.friendlyName"),
        Limit(
            "author of a certificate", asks: "a name to be compared and shown", pays: "a byte a character",
            bound: """
                \(number(DistinguishedName.largestTextLength)) characters of each attribute, cut before they are \
                decoded; \(number(DistinguishedName.largestShownAttributeCount)) attributes are shown
                """, "DistinguishedName.largestTextLength, .largestShownAttributeCount"),
        Limit(
            "author of an archive", asks: "reading the headers of entries", pays: "some 76 bytes an entry",
            bound: "\(number(zip.entryCount)) entries, by the end record before any header is read",
            "ZipLimits.entryCount"),
        Limit(
            "author of an archive", asks: "memory and time for contents",
            pays: "a thousandth, with compression",
            bound: """
                \(size(zip.archiveSize)) of archive, \(size(zip.entrySize)) an entry, \(size(zip.contentsSize)) in \
                all, counted as they are read; \(zip.ratio) : 1 behind \(size(zip.ratioFreeSize))
                """, "ZipLimits"),
        Limit(
            "author of a backup, or of another device's keychain",
            asks: "running SQL, by a view in place of a table",
            pays: "a hundred bytes",
            bound: "nothing: tables and pages are compared with ours before a row is read", "KeychainSchema"),
        Limit(
            "author of a backup, or of another device's keychain", asks: "steps of SQLite's machine",
            pays: "a page that leads back to itself",
            bound: """
                \(number(ForeignDatabaseLimits.stepsPerByte)) for each byte of the file, and \
                \(number(ForeignDatabaseLimits.leastSteps)) for the smallest
                """, "ForeignDatabaseLimits.stepsPerByte, .leastSteps"),
        Limit(
            "author of a backup, or of another device's keychain", asks: "memory", pays: "large rows",
            bound:
                "\(size(ForeignDatabaseLimits.rowSize)) a row, \(size(ForeignDatabaseLimits.memory)) in all",
            "ForeignDatabaseLimits.rowSize, .memory"),
    ]

    /// Text that people write for the commands: scenarios, persons, entitlements, passwords.
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
            asks: "hashing of keys that stand for any number of values",
            pays: "fifty bytes for ten times as many",
            bound: "nothing: aliases, and keys that are no text, are refused before the text is parsed",
            "YAMLScan"),
        Limit(
            "author of a scenario or a list of persons", asks: "sorting of combining marks",
            pays: "two bytes a mark",
            bound: "\(YAMLBounds.mostMarks) in a row; \(size(YAMLBounds.largestText)) a text",
            "YAMLBounds"),
        Limit(
            "author of entitlements", asks: "parsing of lists inside lists", pays: "seven bytes a level",
            bound: """
                \(size(Entitlements.largestFile)), \(number(Entitlements.mostContainers)) lists, \
                \(number(Entitlements.mostGroups)) groups of a kind
                """, "Entitlements.largestFile, .mostContainers, .mostGroups"),
        Limit(
            "who gives a password", asks: "memory", pays: "a file", bound: size(PasswordOptions.largest),
            "PasswordOptions.largest"),
    ]

    /// What apps keep on the device.
    static let storage: [Limit] = [
        Limit(
            "app", asks: "a keychain item", pays: "as many bytes",
            bound: "\(size(Keychain.largestAttribute)) for each attribute and the secret",
            "Keychain.largestAttribute"),
        Limit(
            "app", asks: "a pasteboard item", pays: "as many bytes",
            bound:
                "\(size(Pasteboard.largestItem)), one at a time; wiped after \(Int(Pasteboard.standardLifetime)) s",
            "Pasteboard.largestItem, .standardLifetime"),
        Limit(
            "app", asks: "a record of reading the pasteboard", pays: "a request",
            bound: "the last \(number(PasteboardAccess.kept))", "PasteboardAccess.kept"),
    ]
}
