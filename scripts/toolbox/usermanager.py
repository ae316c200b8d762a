"""A real systemd user manager, for tests of the user units. Needs root, and control groups that root can write."""
import os
import pathlib
import shutil
import signal
import subprocess
import time

from toolbox.report import Skip, need

_GROUP = "keyshare-service-check"


def require():
    """Raises `Skip` if this machine cannot run a user manager of its own."""
    if os.getuid() != 0:
        raise Skip("root is required: a user manager needs a control group")
    if not os.path.exists("/lib/systemd/systemd"):
        raise Skip("systemd is missing; install the Debian package systemd")
    if not _hierarchies():
        raise Skip("this machine has no control groups that a user manager can use")


def _hierarchies():
    """The mount points of the control groups in which systemd places processes."""
    places = ["/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"]
    return [pathlib.Path(place) for place in places
            if os.path.exists(f"{place}/cgroup.procs") and os.access(place, os.W_OK)]


class UserManager:
    """The manager of one user, as a context: of this system, or of another one whose root directory is `root`."""

    def __init__(self, user, home, root=""):
        self.user, self.home, self.root = user, home, str(root)
        self.runtime = f"/run/user/{user}"

    def __enter__(self):
        require()
        self.groups = [place / _GROUP for place in _hierarchies()]
        for group in self.groups:
            group.mkdir(exist_ok=True)
            for path in [group, *group.iterdir()]:
                os.chown(path, self.user, self.user)
        # The mounts are private to the manager and its services. They resemble a system that systemd booted: /run is a
        # mount point, and contains the folders that the system's manager makes for user managers and sandboxes.
        # A process with a changed root could create no user namespace, so another system becomes the namespace's root.
        enter = f"""
            mount --bind {self.root} {self.root}; cd {self.root}
            mount --rbind /sys sys; mount --rbind /dev dev; mount -t proc proc proc
            mkdir -p mnt; pivot_root . mnt; umount --lazy /mnt""" if self.root else ""
        script = "".join(f"echo $$ > {group}/cgroup.procs; " for group in self.groups) + f"""{enter}
            mount -t tmpfs -o mode=755 tmpfs /run
            mkdir -p /run/systemd/system /run/systemd/unit-root {self.runtime}
            chown {self.user}:{self.user} {self.runtime}; chmod 700 {self.runtime}
            exec {self._as_user()} /lib/systemd/systemd --user --log-target=null"""
        self.manager = subprocess.Popen(
            ["unshare", "--mount", "bash", "-ec", script], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        # Units of other packages may fail here.
        while self.run("systemctl --user is-system-running || true").strip() not in ["running", "degraded"]:
            need(self.manager.poll() is None and time.monotonic() < deadline, "the user manager does not start")
            time.sleep(0.1)
        return self

    def __exit__(self, *_):
        self.manager.send_signal(signal.SIGTERM)
        try:
            self.manager.wait(30)
        except subprocess.TimeoutExpired:
            self.manager.kill()
            self.manager.wait()
        for group in self.groups:
            for process in (group / "cgroup.procs").read_text().split():
                os.kill(int(process), signal.SIGKILL)
            for folder, _, _ in os.walk(group, topdown=False):
                os.rmdir(folder)

    def _as_user(self, variables=""):
        return (f"setpriv --reuid={self.user} --regid={self.user} --clear-groups env -i PATH={self.home}/.local/bin:"
                f"/usr/bin:/bin HOME={self.home} XDG_RUNTIME_DIR={self.runtime} LANG=C.UTF-8 {variables}")

    def run(self, command):
        """Runs a command of the shell as the user, next to the manager; returns its output."""
        done = subprocess.run(
            ["nsenter", f"--mount=/proc/{self.manager.pid}/ns/mnt", *self._as_user().split(), "bash", "-c",
             f"cd; {command}"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        need(done.returncode == 0, f"{command}\nends with {done.returncode} and prints:\n{done.stdout}")
        return done.stdout
