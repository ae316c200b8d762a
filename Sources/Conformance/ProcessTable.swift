internal import Foundation
internal import Glibc

/// What the kernel says of processes (proc(5)). A process may end while it is looked at; it counts as nothing then.
enum ProcessTable {
    /// The processes whose parent is `parent`.
    static func children(of parent: Int32) -> [Int32] {
        all().filter { self.parent(of: $0) == parent }
    }

    /// Whether the environment that a process was started with has the variable `entry`, written `NAME=VALUE`.
    static func environment(of process: Int32, has entry: String) -> Bool {
        guard let bytes = FileManager.default.contents(atPath: "/proc/\(process)/environ") else {
            return false
        }
        return bytes.split(separator: 0).contains { $0.elementsEqual(entry.utf8) }
    }

    /// The memory of a process that is in use and its own, in bytes.
    static func memory(of process: Int32) -> Int {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/statm", encoding: .utf8) else {
            return 0
        }
        let pages = text.split(separator: " ").compactMap { Int($0) }
        guard pages.count > 2 else { return 0 }
        return (pages[1] - pages[2]) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    private static func all() -> [Int32] {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc"))?.compactMap { Int32($0) } ?? []
    }

    private static func parent(of process: Int32) -> Int32? {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
            // The name of the program, in parentheses, may hold anything.
            let end = text.lastIndex(of: ")")
        else { return nil }
        return text[end...].split(separator: " ").dropFirst(2).first.flatMap { Int32($0) }
    }
}

/// What the processes of a group use together.
struct GroupUse {
    /// Their memory, in bytes.
    private(set) var memory = 0
    /// How many they are.
    private(set) var processes = 0

    /// Looks at the group that a process leads.
    init(of group: Int32) {
        // Looking at every process of the machine takes long; the leader alone is usual.
        let descendants = Self.descendants(of: group)
        for process in descendants {
            memory += ProcessTable.memory(of: process)
            processes += 1
        }
    }

    /// The process and what it has started, as far as each parent still lives.
    private static func descendants(of process: Int32) -> [Int32] {
        var found = [process]
        var next = 0
        while next < found.count, found.count < 4_096 {
            let parent = found[next]
            next += 1
            let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(parent)/task")) ?? []
            for task in tasks {
                let path = "/proc/\(parent)/task/\(task)/children"
                guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { continue }
                found += text.split(separator: " ").compactMap { Int32($0) }
            }
        }
        return found
    }
}
