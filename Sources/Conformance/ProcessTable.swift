internal import Foundation
internal import Glibc

/// Information from the kernel about processes (proc(5)). A process that ends in the meantime counts as absent.
enum ProcessTable {
    /// The processes whose parent is `parent`.
    ///
    /// - Parameter folder: The folder in which proc is mounted. With the mount option `hidepid=2`, proc hides processes
    ///   that this process may not trace, such as a keeper. Their children are found by reading the parent of every
    ///   visible process.
    static func children(of parent: Int32, in folder: String = "/proc") -> [Int32] {
        let lists = hasListsOfChildren ? taskFolders(of: parent, in: folder) : nil
        guard let lists else {
            guard kill(parent, 0) == 0 || errno == EPERM else { return [] }
            return all(in: folder).filter { self.parent(of: $0, in: folder) == parent }
        }
        return lists.flatMap { task in
            let text = (try? String(contentsOfFile: task + "/children", encoding: .utf8)) ?? ""
            return text.split(separator: " ").compactMap { Int32($0) }
        }
    }

    /// The folders of a process's threads; nil if the process has ended or is hidden.
    private static func taskFolders(of process: Int32, in folder: String) -> [String]? {
        let path = "\(folder)/\(process)/task"
        return (try? FileManager.default.contentsOfDirectory(atPath: path))?.map { "\(path)/\($0)" }
    }

    /// The descendants of a process: its children, their children, and so on.
    static func descendants(of process: Int32) -> [Int32] {
        var found = children(of: process)
        var next = 0
        while next < found.count, found.count < 4_096 {
            found += children(of: found[next])
            next += 1
        }
        return found
    }

    /// The resident memory of a process, in bytes, without mapped files: anonymous memory and shared memory (proc(5)).
    static func memory(of process: Int32) -> Int {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8) else {
            return 0
        }
        let lines = text.split(separator: "\n").filter {
            $0.hasPrefix("RssAnon:") || $0.hasPrefix("RssShmem:")
        }
        let kilobytes = lines.compactMap { line -> Int? in
            let fields = line.split { $0 == " " || $0 == "\t" }
            return fields.count > 1 ? Int(fields[1]) : nil
        }
        return kilobytes.reduce(0, +) * 1_024
    }

    /// Whether the kernel lists the children of a process (CONFIG_PROC_CHILDREN). If not, every process must be
    /// examined.
    private static let hasListsOfChildren = FileManager.default.fileExists(
        atPath: "/proc/\(getpid())/task/\(getpid())/children")

    private static func all(in folder: String) -> [Int32] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder))?.compactMap { Int32($0) } ?? []
    }

    private static func parent(of process: Int32, in folder: String) -> Int32? {
        guard let text = try? String(contentsOfFile: "\(folder)/\(process)/stat", encoding: .utf8),
            // The program name, in parentheses, may contain any character.
            let end = text.lastIndex(of: ")")
        else { return nil }
        return text[end...].split(separator: " ").dropFirst(2).first.flatMap { Int32($0) }
    }
}

/// The total resource use of the descendants of a process.
struct TreeUse {
    /// The resident memory of the descendants, in bytes.
    private(set) var memory = 0
    /// The number of descendants.
    private(set) var processes = 0

    /// Measures all descendants of a process, excluding the process itself.
    init(below process: Int32) {
        for descendant in ProcessTable.descendants(of: process) {
            memory += ProcessTable.memory(of: descendant)
            processes += 1
        }
    }
}
