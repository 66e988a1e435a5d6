//! The memory limit of this process: the machine's, or that of its control group (container).

use std::path::Path;

/// Bytes of memory that this process may use, if the system reports them.
pub fn memory_bytes() -> Option<u64> {
    let machine = machine_bytes(&std::fs::read_to_string("/proc/meminfo").ok()?);
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    machine.into_iter().chain(group_bytes(Path::new("/sys/fs/cgroup"), &groups)).min()
}

fn machine_bytes(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kibibytes| kibibytes * 1024)
}

/// The bytes of memory that the process has in use; `None` if the system does not tell.
pub fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

/// The least limit of the groups in `groups` (`/proc/self/cgroup`) and their parents. In a container these may be
/// the host's names: then only the root exists, and it is the container's group.
fn group_bytes(root: &Path, groups: &str) -> Option<u64> {
    let limits = groups.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, group) = (fields.next()?, fields.next()?, fields.next()?);
        let (mount, file) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            named if named.split(',').any(|name| name == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => return None,
        };
        let within = mount.join(group.trim_start_matches('/'));
        let around = within.ancestors().take_while(|path| path.starts_with(&mount));
        // A group without a limit has "max", or a number larger than any machine's memory.
        let limits =
            around.filter_map(|path| std::fs::read_to_string(path.join(file)).ok()?.trim().parse().ok());
        limits.min()
    });
    limits.min()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn check(files: &[(&str, &str)], groups: &str, expected: Option<u64>) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        assert_eq!(group_bytes(root.path(), groups), expected);
    }

    #[test]
    fn limit_is_the_least_on_the_way_up() {
        let files = [("a/memory.max", "2147483648\n"), ("a/b/memory.max", "max\n"), ("c/memory.max", "1\n")];
        check(&files, "0::/a/b\n", Some(2 << 30));
        check(&[("memory.max", "1000\n")], "0::/\n", Some(1000));
        check(&[("memory.max", "1000\n")], "0::/docker/of/outside\n", Some(1000));
        check(&[], "0::/\n", None);
    }

    #[test]
    fn first_version_of_groups_has_a_mount_for_memory() {
        let files = [("memory/x/memory.limit_in_bytes", "500\n"), ("memory.max", "1\n")];
        check(&files, "4:cpu,cpuacct:/x\n9:memory:/x\n", Some(500));
        check(&[("memory/memory.limit_in_bytes", "700\n")], "9:memory:/docker/x\n", Some(700));
    }

    #[test]
    fn machine_tells_what_it_has() {
        assert_eq!(machine_bytes("MemFree: 1 kB\nMemTotal:       16 kB\n"), Some(16 << 10));
        assert!(memory_bytes().expect("Linux") > 0);
    }
}
