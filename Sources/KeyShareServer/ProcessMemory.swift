internal import Foundation

/// The memory of this process, as the kernel tells it (proc(5), /proc/self/status).
struct ProcessMemory {
    /// The bytes in memory now.
    var resident = 0
    /// The most bytes that were in memory at a time.
    var peak = 0

    /// The memory now; zeros where the kernel does not tell.
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
