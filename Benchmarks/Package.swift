// swift-tools-version: 6.2
import PackageDescription

// Benchmarks are a package of their own, so that no build of the package itself makes them. What they measure
// has package access only and is not published for their sake: the sources are linked in, and so belong to
// this package too.
let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [.package(url: "https://github.com/apple/swift-asn1", from: "1.7.0")],
    targets: [
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .target(
            name: "OpenSSL",
            dependencies: ["COpenSSL", .product(name: "SwiftASN1", package: "swift-asn1")]),
        .executableTarget(name: "pkcs12-benchmark", dependencies: ["OpenSSL"]),
    ]
)

for target in package.targets where target.type != .system {
    target.swiftSettings = [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .strictMemorySafety(),
    ]
}
