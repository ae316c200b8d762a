// Security.framework as a consumer, for macOS. UNTESTED: this project runs on Linux and has never built this
// file.
// Its claim is identity, and it reports the cause of a failure.
//
//   swiftc -o security Security.swift
//   keyshare-provider conformance --claims identity --reports json --skip archives -- \
//     ./security {file} {password-file}
import Foundation
import Security

let arguments = CommandLine.arguments
let file = try Data(contentsOf: URL(fileURLWithPath: arguments[1]))
let line = try String(contentsOfFile: arguments[2], encoding: .utf8)
let password = line.hasSuffix("\n") ? String(line.dropLast()) : line

var items: CFArray?
// To memory only: otherwise macOS puts the identities into the login keychain.
let options: [String: Any] = [
    kSecImportExportPassphrase as String: password, kSecImportToMemoryOnly as String: true,
]
let status = SecPKCS12Import(file as CFData, options as CFDictionary, &items)
let found = (items as? [[String: Any]] ?? []).filter { $0[kSecImportItemIdentity as String] != nil }
let blames = status == errSecAuthFailed ? "\"password\"" : status == errSecSuccess ? "null" : "\"file\""
print("{\"identities\": \(found.count), \"blames\": \(blames)}")
exit(status == errSecSuccess && !found.isEmpty ? 0 : 1)
