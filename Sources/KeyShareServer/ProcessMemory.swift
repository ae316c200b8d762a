internal import Foundation

/// The memory usage of this process, as reported by the kernel (proc(5), /proc/self/status).
struct ProcessMemory {
    /// The resident memory, in bytes.
    var resident = 0
    /// The peak resident memory, in bytes.
    var peak = 0

    /// The current values; zeros if the kernel does not report them.
    static var current: ProcessMemory {
        var memory = ProcessMemory()
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        for line in status.split(separator: "\n") {
            let words = line.split { $0 == " " || $0 == "\t" }
            guard words.count >= 2, let kibibytes = Int(words[1]) else { continue }
            switch words[0] {
            case "VmRSS:": memory.resident = kibibytes << 10
            case "VmHWM:": memory.peak = kibibytes << 10
            default: break
            }
        }
        return memory
    }
}
