// swift-tools-version: 6.2
import PackageDescription

// Fuzz targets are a package of their own, because everything in it is built with libFuzzer's instrumentation
// and the address sanitizer; scripts/fuzz passes the flags. The sources are linked in, and so belong to this
// package too.
let package = Package(
    name: "Fuzz",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
    ],
    targets: [
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CLibZip", pkgConfig: "libzip", providers: [.apt(["libzip-dev"])]),
        .target(name: "CFuzzer"),
        .target(
            name: "OpenSSL",
            dependencies: ["COpenSSL", .product(name: "SwiftASN1", package: "swift-asn1")]),
        .target(name: "ZipBundles", dependencies: ["CLibZip"]),
        .target(
            name: "UTTypes",
            resources: [
                .embedInCode("SystemTypes.plist"), .embedInCode("LegacyTypes.plist"),
                .embedInCode("KeySharing2025Types.plist"),
            ]),
        .target(name: "UniformTypes", dependencies: ["UTTypes"]),
        .target(name: "KeySharing", dependencies: ["OpenSSL", "UniformTypes"]),
        .target(
            name: "ProviderConnection",
            dependencies: ["KeySharing", "OpenSSL", .product(name: "NIOCore", package: "swift-nio")]),
        .executableTarget(
            name: "fuzz",
            dependencies: [
                "CFuzzer", "KeySharing", "OpenSSL", "ProviderConnection", "UTTypes", "UniformTypes",
                "ZipBundles",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
            ]),
    ]
)

for target in package.targets where target.type != .system && target.name != "CFuzzer" {
    target.swiftSettings = [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .strictMemorySafety(),
    ]
}
