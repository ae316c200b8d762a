import CFuzzer
import Foundation

// usage: fuzz TARGET [libFuzzer's arguments], or fuzz seeds FOLDER [FRAMES ...] to write seeds for every target,
// those of the wire and of the PKCS #11 module from files of golden frames.

let arguments = CommandLine.arguments

/// The function under test. libFuzzer's callback has no context argument.
///
/// `nonisolated(unsafe)`: set once before libFuzzer starts, and read only on its single thread.
nonisolated(unsafe) var test: ([UInt8]) -> Void = { _ in }

switch arguments.dropFirst().first {
case "seeds"?:
    let folder = arguments.count > 2 ? arguments[2] : "seeds"
    try Seeds.write(to: folder)
    for path in arguments.dropFirst(3) {
        try Seeds.writeFrames(of: String(contentsOfFile: path, encoding: .utf8), to: folder)
    }
case "pkcs12"?: exit(run { PKCS12Target.test($0) })
case "zip"?: exit(run { ZipTarget.test($0) })
case "types"?: exit(run { TypesTarget.test($0) })
case "wire"?: exit(run { WireTarget.test($0) })
case "module"?: exit(run { ModuleTarget.test($0) })
case "module-calls"?: exit(run { ModuleCallsTarget.test($0) })
default:
    FileHandle.standardError.write(
        Data("usage: fuzz pkcs12|zip|types|wire|module|module-calls [options], fuzz seeds FOLDER\n".utf8))
    exit(64)
}

/// Starts libFuzzer with the remaining arguments, and returns its exit code.
func run(_ body: @escaping ([UInt8]) -> Void) -> Int32 {
    unsafe test = body
    var count = CInt(CommandLine.argc - 1)
    // Remove the target's name and keep the program's.
    unsafe CommandLine.unsafeArgv[1] = CommandLine.unsafeArgv[0]
    var values: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = unsafe CommandLine.unsafeArgv + 1
    return unsafe LLVMFuzzerRunDriver(&count, &values) { start, count in
        unsafe test(Array(UnsafeBufferPointer(start: start, count: count)))
        return 0
    }
}
