import Foundation
import Testing

@testable import KeySharing

@Suite("AliasQuery", .timeLimit(.minutes(10)))
struct AliasQueryTests {
    /// Returns the columns and the number of rows, or the name of the error.
    private func outcome(
        _ entries: [AliasEntry], _ projection: [String]?, likeTheSample: Bool, isGranted: Bool = true
    ) -> String {
        do throws(AliasQuery.Failure) {
            let query = try AliasQuery(columns: projection, isLikeTheSample: likeTheSample)
            let rows = try query.rows(entries, isReadAliasGranted: isGranted)
            return "\(query.columns.map(\.rawValue).joined(separator: " ")): \(rows.count)"
        } catch {
            return error.name
        }
    }

    @Test(
        "Queries return the expected columns and numbers of rows, by default and like the sample provider")
    func vectors() throws {
        let twelve = try AliasSamples.twelve()
        let table: [(String, [AliasEntry], [String]?, String, String)] = [
            ("Q1", twelve, ["alias"], "alias: 12", "alias: 12"),
            ("Q2", twelve, ["certificate"], "certificate: 12", "certificate: 12"),
            ("Q3", twelve, ["type"], "type: 12", "type: 12"),
            ("Q4", twelve, ["type", "alias"], "alias type: 12", "alias type: 12"),
            ("Q5", twelve, ["certificate", "alias"], "alias certificate: 12", "alias certificate: 12"),
            ("Q5", twelve, ["type", "certificate"], "certificate type: 12", "certificate type: 12"),
            (
                "Q6", twelve, ["type", "certificate", "alias"], "alias certificate type: 12",
                "alias certificate type: 12"
            ),
            ("Q7", twelve, nil, "alias certificate type: 12", "null-projection"),
            ("Q7", twelve, [], "alias certificate type: 12", "type: 0"),
            ("Q8", twelve, ["Alias"], "unknown-column", "type: 0"),
            ("Q9", twelve, ["alias", "_id"], "unknown-column", "alias: 12"),
            (
                "Q10", [], ["alias", "certificate", "type"], "alias certificate type: 0",
                "alias certificate type: 0"
            ),
            ("Q11", twelve + [AliasSamples.secretKey], ["alias"], "alias: 12", "alias: 4"),
            ("Q12", try AliasSamples.four(), ["alias", "type"], "alias type: 4", "alias type: 4"),
        ]
        for (name, entries, projection, usual, likeTheSample) in table {
            #expect(outcome(entries, projection, likeTheSample: false) == usual, "\(name)")
            #expect(outcome(entries, projection, likeTheSample: true) == likeTheSample, "\(name)")
        }
    }

    @Test("The rows of a query are sorted by alias, and contain the requested columns")
    func rows() throws {
        let twelve = try AliasSamples.twelve()
        #expect(try AliasQuery(columns: ["alias"]).rows(twelve) == AliasSamples.twelveAliases.map { [$0] })
        #expect(
            try AliasQuery(columns: ["type"]).rows(twelve).flatMap(\.self)
                == ["Digital Signature", "PIV Authentication", "Encryption"].flatMap {
                    Array(repeating: $0, count: 4)
                })
        let both = try AliasQuery(columns: ["type", "alias"]).rows(twelve)
        #expect(both[8] == ["Purebred Recovered #1", "Encryption"])
        #expect(
            try AliasQuery(columns: ["type"]).rows(AliasSamples.four()).flatMap(\.self)
                == ["Other", "Digital Signature", "Identity", "Encryption"])
    }

    @Test(
        "A query returns each certificate in Base64, in lines of 76 characters with LF after each line")
    func certificates() throws {
        let entries = try AliasSamples.twelve()
        let rows = try AliasQuery(columns: ["alias", "certificate"]).rows(entries)
        for row in rows {
            let entry = try #require(entries.first { $0.alias == row[0] })
            let data = Data(base64Encoded: row[1], options: .ignoreUnknownCharacters)
            #expect(data?.count == 1_000)
            #expect(data.map(Array.init) == entry.certificate?.der)
        }
        // 57 octets fill a line.
        for (count, lines) in [(0, []), (1, [4]), (56, [76]), (57, [76]), (58, [76, 4]), (114, [76, 76])] {
            let certificate = AliasEntry.Certificate(
                der: Array(repeating: 0x30, count: count), type: .other, notBefore: .distantPast,
                notAfter: .distantFuture)
            let parts = certificate.base64.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(parts.map(\.count) == lines + [0])
        }
    }

    @Test("A query ignores a selection and a sort order, and reports that it did")
    func ignoredArguments() throws {
        let entries = try AliasSamples.twelve()
        let query = try AliasQuery(
            columns: ["alias"], selection: "type = 'Encryption'", sortOrder: "alias DESC")
        #expect(query.ignoredArguments == [.selection, .sortOrder])
        #expect(query.rows(entries) == AliasSamples.twelveAliases.map { [$0] })
        #expect(try AliasQuery(columns: ["alias"], selection: "1").ignoredArguments == [.selection])
        #expect(try AliasQuery(columns: ["alias"]).ignoredArguments == [])
    }

    @Test("A query without the permission fails, and does not return an empty list")
    func permission() throws {
        for likeTheSample in [false, true] {
            for entries in [[], try AliasSamples.twelve()] {
                #expect(
                    outcome(entries, ["alias"], likeTheSample: likeTheSample, isGranted: false)
                        == "permission-denied")
            }
        }
    }

    @Test("The error about an unknown column names it and the existing columns")
    func unknownColumn() {
        let reason = AliasQuery.Failure.unknownColumn("_id").reason
        #expect(reason.contains("\u{201C}_id\u{201D}"))
        #expect(reason.hasSuffix("alias, certificate, type"))
    }

    /// An independent implementation of docs/rules.md R9.1 to R9.3: the table of projections, and a loop over entries
    /// that are already sorted. Returns the columns and the cells of all rows, or the name of an error.
    private static func expected(
        _ sorted: [AliasEntry], _ projection: [String]?, likeTheSample: Bool
    ) -> (columns: [String], cells: [String], error: String?) {
        let names = Set(projection ?? [])
        var columns = "alias certificate type".split(separator: " ").map(String.init)
        if likeTheSample, projection == nil { return ([], [], "null-projection") }
        let unknown = names.subtracting(columns)
        if !likeTheSample, !unknown.isEmpty { return ([], [], "unknown-column") }
        if likeTheSample, unknown == names { return (["type"], [], nil) }
        if !names.isEmpty { columns.removeAll { !names.contains($0) } }
        var cells: [String] = []
        for entry in sorted {
            guard let certificate = entry.certificate else {
                if likeTheSample { break }
                continue
            }
            for column in columns {
                if column == "alias" { cells.append(entry.alias) }
                if column == "type" { cells.append("\(certificate.type)") }
                if column == "certificate" { cells.append(certificate.base64) }
            }
        }
        return (columns, cells, nil)
    }

    @Test(
        "Every projection of up to three known and unknown names follows the rules", arguments: [false, true])
    func sweep(likeTheSample: Bool) throws {
        let names = ["alias", "certificate", "type", "_id", "Alias", ""]
        let pairs = names.flatMap { first in names.map { [first, $0] } }
        let triples = pairs.flatMap { pair in names.map { pair + [$0] } }
        let projections: [[String]?] = [nil, []] + names.map { [$0] } + pairs + triples
        let twelve = try AliasSamples.twelve()
        let stores = [[], try AliasSamples.four(), twelve, [AliasSamples.secretKey] + twelve]
        for entries in stores {
            let sorted = entries.sorted {
                Array($0.alias.utf8).lexicographicallyPrecedes(Array($1.alias.utf8))
            }
            for projection in projections {
                let wanted = Self.expected(sorted, projection, likeTheSample: likeTheSample)
                do throws(AliasQuery.Failure) {
                    let query = try AliasQuery(columns: projection, isLikeTheSample: likeTheSample)
                    #expect(wanted.error == nil, "\(String(describing: projection))")
                    #expect(query.columns.map(\.rawValue) == wanted.columns)
                    #expect(query.rows(entries).flatMap(\.self) == wanted.cells)
                } catch {
                    #expect(error.name == wanted.error, "\(String(describing: projection))")
                }
            }
        }
    }
}
