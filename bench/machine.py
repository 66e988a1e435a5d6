"""What is asked of the operating system: memory of a process, the page cache, names for the report."""

import contextlib
import os
import platform
import subprocess
import threading


class MemoryPeak:
    """The most memory of its own that a process has inside `with`, looked at every few milliseconds."""

    EVERY_SECONDS = 0.005

    def __init__(self, pid):
        self.pid = pid
        self.bytes = 0

    def __enter__(self):
        self.done = threading.Event()
        self.watch = threading.Thread(target=self._watch)
        self.watch.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.watch.join()

    def _watch(self):
        while not self.done.wait(self.EVERY_SECONDS):
            # The process may have ended; the next question to it reports that.
            with contextlib.suppress(OSError):
                self.bytes = max(self.bytes, memory_bytes(self.pid))


class LostTime:
    """The part of what the processors had to do inside `with` for which the host kept them away (steal)."""

    # Of the numbers in the first line of /proc/stat: what was done, and what would have been.
    WORKED = (1, 2, 3, 6, 7)
    STOLEN = 8

    def __init__(self):
        self.part = 0.0

    def __enter__(self):
        self.before = self._ticks()
        return self

    def __exit__(self, *_):
        worked, stolen = (now - before for now, before in zip(self._ticks(), self.before))
        self.part = stolen / max(worked + stolen, 1)

    def _ticks(self):
        with open("/proc/stat") as file:
            ticks = file.readline().split()
        return sum(int(ticks[at]) for at in self.WORKED), int(ticks[self.STOLEN])


def memory_bytes(pid):
    """Memory that the process has for itself: files that it maps, such as its program, are not in it."""
    with open(f"/proc/{pid}/status") as file:
        line = next((line for line in file if line.startswith("RssAnon:")), "RssAnon: 0 kB")
    return int(line.split()[1]) * 1024


class MemoryGroup:
    """A memory cgroup (version 1) below which processes have `limit` bytes, with the page cache of what they read."""

    ROOT = "/sys/fs/cgroup/memory"

    def __init__(self, limit):
        self.limit = limit
        self.path = os.path.join(self.ROOT, f"basalt-bench-{os.getpid()}")

    @classmethod
    def is_there(cls):
        return os.path.exists(os.path.join(cls.ROOT, "memory.limit_in_bytes")) and can_drop_caches()

    def __enter__(self):
        os.mkdir(self.path)
        self._write("memory.limit_in_bytes", self.limit)
        return self

    def __exit__(self, *_):
        # What is in the page cache would go to the group above.
        with contextlib.suppress(OSError):
            self._write("memory.force_empty", 0)
        os.rmdir(self.path)

    def _write(self, name, value):
        with open(os.path.join(self.path, name), "w") as file:
            file.write(str(value))


def processor_seconds(pid):
    """Seconds of processors that the process has used."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def can_drop_caches():
    return os.access("/proc/sys/vm/drop_caches", os.W_OK) and os.geteuid() == 0


def drop_caches():
    """Empties the page cache of the machine."""
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w") as file:
        file.write("3")


def warm_program(pid):
    """Reads the files whose code the process runs, so that only its data are cold."""
    with open(f"/proc/{pid}/maps") as maps:
        fields = [line.split(maxsplit=5) for line in maps]
    for path in {line[5].strip() for line in fields if len(line) == 6 and "x" in line[1]}:
        if os.path.isfile(path):
            with open(path, "rb") as file:
                while file.read(1 << 20):
                    pass


def tree_bytes(path):
    """Bytes of a file, or of all files below a directory."""
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(path) for name in names)


def commit(root):
    """The commit of the checkout, with a plus if files were changed since."""
    git = ["git", "-C", root]
    named = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    changed = subprocess.run([*git, "status", "--porcelain", "-uno"], capture_output=True, text=True)
    return (named.stdout.strip() or "unknown") + ("+" if changed.stdout.strip() else "")


def description():
    """Processor, processors and memory, in a few words."""
    with open("/proc/cpuinfo") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    name = names[0] if names else platform.machine()
    return f"{os.cpu_count()} x {name}, {memory:.0f} GiB, {platform.system()} {platform.release()}"
