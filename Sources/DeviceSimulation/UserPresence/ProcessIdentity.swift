private import Foundation
private import Glibc

/// Identifies a process, so that other processes can determine whether it has ended.
struct ProcessIdentity: Sendable, Hashable, Codable {
    let process: Int32
    /// The time at which the process started, in clock ticks since the system started. It distinguishes the process
    /// from a later one with the same number.
    let startTime: UInt64
    /// The inode number of the process's PID namespace (pid_namespaces(7)). The number of a process is valid only in
    /// its namespace, and containers may share a device.
    let namespace: UInt64

    /// This process; nil without a proc file system.
    static let current: ProcessIdentity? = {
        var status = stat()
        guard unsafe stat("/proc/self/ns/pid", &status) == 0,
            let startTime = ProcessIdentity.readStartTime(of: getpid())
        else { return nil }
        return ProcessIdentity(
            process: getpid(), startTime: startTime, namespace: UInt64(status.st_ino))
    }()

    /// Whether the process has certainly ended. It is unknown for processes of other namespaces.
    var hasEnded: Bool {
        guard self != Self.current, namespace == Self.current?.namespace else { return false }
        guard kill(process, 0) == 0 || errno != ESRCH else { return true }
        guard let startTime = Self.readStartTime(of: process) else { return false }
        return startTime != self.startTime
    }

    /// Reads the 22nd field of /proc/pid/stat (proc_pid_stat(5)). The second field contains the name of the program,
    /// which may contain spaces and parentheses.
    private static func readStartTime(of process: Int32) -> UInt64? {
        guard let bytes = try? Data(contentsOf: URL(fileURLWithPath: "/proc/\(process)/stat")),
            let end = bytes.lastIndex(of: UInt8(ascii: ")"))
        else { return nil }
        let fields = bytes[end...].split(separator: UInt8(ascii: " "))
        // The first of these is the end of the second field.
        return fields.count > 20 ? UInt64(String(decoding: fields[20], as: UTF8.self)) : nil
    }
}
