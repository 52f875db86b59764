"""A real SLURM cluster on one machine: a controller and two nodes, from Debian's packages.

    python tools/slurm_cluster.py start [--accounting]     boot it and print how to use it
    python tools/slurm_cluster.py stop                     end its processes

The daemons are plain processes of the user on the loopback address: no root, systemd, cgroups or
device files are needed. It needs the packages `slurm-wlm` and `munge`; accounting also needs
`slurmdbd` and `mariadb-server`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pwd
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

PACKAGES = {
    "munged": "munge",
    "slurmctld": "slurm-wlm",
    "slurmd": "slurm-wlm",
    "sbatch": "slurm-wlm",
}
ACCOUNTING_PACKAGES = {
    "slurmdbd": "slurmdbd",
    "mariadbd": "mariadb-server",
    "mariadb-install-db": "mariadb-server",
}
COMMANDS = (
    "sacct",
    "sacctmgr",
    "sbatch",
    "scancel",
    "scontrol",
    "sinfo",
    "squeue",
    "srun",
    "sshare",
)
NODES = ("n1", "n2")
DEVICES = ("/dev/null", "/dev/zero")
"""One character device per node that stands for its GPU; a container may not create devices."""
LINK = Path("build/slurm")
"""Link to the folder of the cluster of `make slurm-demo`."""
SECONDS_TO_BOOT = 60.0

SLURM_CONF = """\
ClusterName=journeylab
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.own-pid
SlurmdPidFile={folder}/slurmd-%n.own-pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
# neither cgroups nor systemd
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
# kill a step that uses more memory than its job asked for
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
JobAcctGatherParams=OverMemoryKill
MpiDefault=none
MailProg=/bin/true
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=500
# nodes may have more cores than this machine
SlurmdParameters=config_overrides
GresTypes=gpu
ReturnToService=2
# keep records of ended jobs
MinJobAge=3600
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/jobs.txt
# notice dead nodes and expired jobs soon
SlurmdTimeout=10
KillWait=2
{accounting}
{nodes}
PartitionName=main Nodes={names} Default=YES MaxTime=INFINITE State=UP
"""
NODE = (
    "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cpus}"
    " RealMemory=20000 Gres=gpu:1 State=UNKNOWN"
)
WITH_ACCOUNTING = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
AccountingStoragePass={folder}/munge.socket
"""
SLURMDBD_CONF = """\
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser={user}
LogFile={folder}/slurmdbd.log
PidFile={folder}/slurmdbd.own-pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database}
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm
"""


def missing(*, accounting: bool = False) -> str:
    """The command that installs missing packages; empty if none is missing."""
    needed = PACKAGES | (ACCOUNTING_PACKAGES if accounting else {})
    packages = {package for program, package in needed.items() if not find(program)}
    return f"apt-get install {' '.join(sorted(packages))}" if packages else ""


def find(program: str) -> str | None:
    """The path of a program; searches the folders of daemons too."""
    return shutil.which(program, path=f"{os.environ['PATH']}:/usr/local/sbin:/usr/sbin:/sbin")


class Cluster:
    """A controller and its nodes, as processes whose ids are in `folder/pids`.

    The path of `folder` is short, since paths of sockets have at most 107 characters. Each node has
    at least `cpus`; if both together have more than the machine, jobs share its cores.
    """

    def __init__(self, folder: Path, cpus: int = 2) -> None:
        self.folder = folder
        self.cpus = max(cpus, (os.cpu_count() or 1) // len(NODES))
        self.pids = folder / "pids"
        self.started: list[subprocess.Popen[bytes]] = []
        self.daemons: dict[str, tuple[str, ...]] = {}

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which a process finds this cluster."""
        return {
            "SLURM_CONF": str(self.folder / "slurm.conf"),
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
        }

    def start(self, *, accounting: bool = False) -> None:
        """Boot all daemons; raise RuntimeError with the end of a log if a daemon does not start."""
        self.pids.mkdir(parents=True)
        # munge requires that no other user can write its key or its socket
        self.folder.chmod(0o755)
        self._configure(accounting)
        key = self.folder / "munge.key"
        with os.fdopen(os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400), "wb") as file:
            file.write(os.urandom(1024))
        names = {"socket": "socket", "key": "key-file", "log": "log-file"}
        names |= {"own-pid": "pid-file", "seed": "seed-file"}
        options = [f"--{option}={self.folder}/munge.{end}" for end, option in names.items()]
        self._start_daemon("munged", "--foreground", *options)
        self._wait(lambda: (self.folder / "munge.socket").exists(), "munge")
        if accounting:
            self._start_database()
            self._start_daemon("slurmdbd", "-D")
            self._wait(lambda: self._succeeds("sacctmgr", "-n", "list", "cluster"), "slurmdbd")
            self.run("sacctmgr", "-i", "add", "cluster", "journeylab")
        self._start_daemon("slurmctld", "-D", "-i")
        for name in NODES:
            self.start_node(name)
        self._wait(lambda: self._succeeds("scontrol", "ping"), "slurmctld")
        self._wait(lambda: self.states() == dict.fromkeys(NODES, "idle"), "slurmd")

    def start_node(self, name: str) -> None:
        """Start a node's daemon."""
        self._start_daemon("slurmd", "-D", "-N", name, name=f"slurmd-{name}")

    def restart(self, name: str) -> None:
        """Start a daemon again that has ended."""
        self._start_daemon(*self.daemons[name], name=name)

    def kill_node(self, name: str) -> None:
        """Kill a node as a power cut would: its daemon and the processes of its jobs."""
        for pid in [self.pid(f"slurmd-{name}"), *self.processes(node=name)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        """End jobs, nodes, controller and the rest, and remove the folder."""
        with contextlib.suppress(RuntimeError, subprocess.TimeoutExpired):
            self.run("scancel", f"--user={user_name()}")  # so that no pending job starts
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        # the newest first, since a daemon needs the older ones
        for path in sorted(self.pids.iterdir(), key=lambda p: p.stat().st_mtime_ns, reverse=True):
            end(int(path.read_text()), path.name)
        for process in self.started:
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, *command: str) -> str:
        """Run a SLURM command; return its output, or raise RuntimeError if it fails."""
        done = subprocess.run(
            command, env=os.environ | self.environment, capture_output=True, text=True, timeout=60
        )
        if done.returncode:
            raise RuntimeError(f"{shlex.join(command)}: {done.stderr.strip()}")
        return done.stdout

    def states(self) -> dict[str, str]:
        """Node → its state in the controller."""
        try:
            lines = self.run("sinfo", "--noheader", "--Node", "--format=%N %t").splitlines()
        except RuntimeError:
            return {}
        return dict(line.split() for line in lines)

    def jobs(self) -> list[dict[str, str]]:
        """The controller's fields of every job, including ended jobs."""
        try:
            lines = self.run("scontrol", "--oneliner", "--all", "show", "jobs").splitlines()
        except RuntimeError:  # the controller has ended or not started yet
            return []
        return [fields for fields in map(fields_of, lines) if len(fields) > 5]

    def ended(self) -> list[dict[str, str]]:
        """The recorded fields of every attempt of every ended job."""
        path = self.folder / "jobs.txt"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return list(map(fields_of, lines))

    def processes(self, *, node: str = "", job: str = "") -> list[int]:
        """Process ids of all jobs with their step daemons, or only of a node or a job."""
        nodes = {fields["JobId"]: fields.get("NodeList", "") for fields in self.jobs()}
        processes = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                variables = (entry / "environ").read_bytes().decode(errors="replace").split("\0")
                command = (entry / "cmdline").read_bytes().decode(errors="replace")
            except OSError:  # ended, or of another user
                continue
            known = dict(variable.partition("=")[::2] for variable in variables)
            if known.get("SLURM_CONF") != self.environment["SLURM_CONF"]:
                continue
            number = known.get("SLURM_JOB_ID", "")
            if command.startswith("slurmstepd: ["):
                number = command.removeprefix("slurmstepd: [").partition(".")[0]
            at = known.get("SLURMD_NODENAME", nodes.get(number, ""))
            if number and (not node or at == node) and (not job or number == job):
                processes.append(int(entry.name))
        return processes

    def pid(self, name: str) -> int:
        """The recorded process id of a daemon."""
        return int((self.pids / name).read_text())

    def _configure(self, accounting: bool) -> None:
        ports = list(free_ports(3 + len(NODES)))
        host = socket.gethostname().partition(".")[0]
        common = {"folder": self.folder, "user": user_name(), "host": host}
        nodes = [
            NODE.format(name=name, port=port, cpus=self.cpus, **common)
            for name, port in zip(NODES, ports[3:], strict=True)
        ]
        stored = WITH_ACCOUNTING.format(port=ports[1], **common) if accounting else ""
        self._write(
            "slurm.conf",
            SLURM_CONF.format(
                ports=ports,
                accounting=stored,
                nodes="\n".join(nodes),
                names=",".join(NODES),
                **common,
            ),
        )
        devices = zip(NODES, DEVICES, strict=True)
        gres = [f"NodeName={node} Name=gpu File={device}" for node, device in devices]
        self._write("gres.conf", "\n".join(gres) + "\n")
        self.database = ports[2]
        path = self._write(
            "slurmdbd.conf", SLURMDBD_CONF.format(port=ports[1], database=ports[2], **common)
        )
        path.chmod(0o600)  # slurmdbd refuses other permissions
        (self.folder / "state").mkdir()
        # Inside jobs, snakemake's executors start these commands without SLURM_* variables, so a
        # wrapper names this cluster's configuration.
        conf = shlex.quote(str(self.folder / "slurm.conf"))
        for name in COMMANDS:
            command = f'SLURM_CONF={conf} exec {shutil.which(name)} "$@"'
            self._write(f"bin/{name}", f"#!/bin/sh\n{command}\n").chmod(0o755)

    def _write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def _start_database(self) -> None:
        data, address = self.folder / "database", self.folder / "mariadb.socket"
        common = ["--no-defaults", f"--datadir={data}"]
        user = [f"--user={user_name()}"]
        with (self.folder / "mariadb.log").open("wb") as log:
            subprocess.run(
                [str(find("mariadb-install-db")), *common, *user, "--skip-test-db"],
                stdout=log,
                stderr=log,
                check=True,
            )
        accounts = self._write(
            "accounts.sql",
            "CREATE DATABASE slurm;\n"
            "CREATE USER slurm@'127.0.0.1' IDENTIFIED BY 'slurm';\n"
            "GRANT ALL ON slurm.* TO slurm@'127.0.0.1';\n",
        )
        self._start_daemon(
            "mariadbd",
            *common,
            *user,
            f"--socket={address}",
            f"--pid-file={self.folder}/mariadb.own-pid",
            "--bind-address=127.0.0.1",
            f"--port={self.database}",
            f"--init-file={accounts}",
            "--skip-name-resolve",
        )
        self._wait(lambda: listens(self.database), "mariadbd")

    def _start_daemon(self, program: str, *arguments: str, name: str = "") -> None:
        name = name or program
        self.daemons[name] = (program, *arguments)
        with (self.folder / f"{name}.output").open("ab") as output:
            process = subprocess.Popen(
                [str(find(program)), *arguments],
                env=os.environ | self.environment,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.started.append(process)
        (self.pids / name).write_text(str(process.pid))

    def _succeeds(self, *command: str) -> bool:
        try:
            self.run(*command)
        except (RuntimeError, subprocess.TimeoutExpired):
            return False
        return True

    def _wait(self, ready: Callable[[], bool], daemon: str) -> None:
        deadline = time.monotonic() + SECONDS_TO_BOOT
        while not ready():
            if time.monotonic() > deadline:
                logs = [*self.folder.glob(f"{daemon}*.log"), *self.folder.glob(f"{daemon}*.output")]
                text = "\n".join(path.read_text(errors="replace")[-1500:] for path in logs)
                raise RuntimeError(f"{daemon} does not start:\n{text}")
            time.sleep(0.1)


@contextlib.contextmanager
def running(cpus: int) -> Iterator[Cluster]:
    """A cluster until the end of the block; exits if SLURM is not installed."""
    if install := missing():
        sys.exit(f"error: SLURM is not installed here: {install}")
    cluster = Cluster(make_folder(), cpus)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def fields_of(line: str) -> dict[str, str]:
    """The fields NAME=VALUE of a line about a job."""
    return dict(word.partition("=")[::2] for word in line.split())


def end(pid: int, name: str) -> None:
    """End a daemon with SIGTERM, and after five seconds with SIGKILL."""
    if name.partition("-")[0] not in command_of(pid):
        return  # it has ended; another process may have its number
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + 5.0
    while name.partition("-")[0] in command_of(pid):
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            break
        time.sleep(0.05)


def command_of(pid: int) -> str:
    """The command line of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def free_ports(number: int) -> Iterator[int]:
    """Ports of the loopback address that nothing listens on."""
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(number)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        yield from [probe.getsockname()[1] for probe in probes]


def listens(port: int) -> bool:
    """Whether a server listens on a port of the loopback address."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def user_name() -> str:
    """The user's name from the system; environment variables may be wrong."""
    return pwd.getpwuid(os.getuid()).pw_name


def make_folder() -> Path:
    """A new folder with a short path."""
    return Path(tempfile.mkdtemp(prefix="jl-slurm-", dir="/tmp"))


def main(arguments: Sequence[str] | None = None) -> None:
    """Start or stop the cluster to which `build/slurm` links."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("start", "stop"))
    parser.add_argument("--accounting", action="store_true", help="with slurmdbd, for sacct")
    options = parser.parse_args(arguments)
    if LINK.exists():
        if options.command == "start":
            sys.exit(f"error: a cluster is running; stop it with: {sys.executable} {__file__} stop")
        Cluster(LINK.resolve()).stop()
        LINK.unlink()
    elif options.command == "stop":
        sys.exit("error: no cluster was started here")
    else:
        start(accounting=options.accounting)


def start(*, accounting: bool) -> None:
    """Boot the cluster and print how to use it."""
    if install := missing(accounting=accounting):
        sys.exit(f"error: SLURM is not installed here: {install}")
    cluster = Cluster(make_folder())
    try:
        cluster.start(accounting=accounting)
    except RuntimeError as problem:
        cluster.stop()
        sys.exit(f"error: {problem}")
    LINK.parent.mkdir(exist_ok=True)
    LINK.unlink(missing_ok=True)
    LINK.symlink_to(cluster.folder)
    exported = "".join(f"export {name}={value}\n" for name, value in cluster.environment.items())
    (cluster.folder / "environment").write_text(
        exported.replace(os.environ["PATH"], "$PATH"), encoding="utf-8"
    )
    print(cluster.run("sinfo"), end="")
    print(f"use it:   . .venv/bin/activate && . {LINK}/environment")
    print("          snakemake --workflow-profile profiles/slurm --config scale=quick \\")
    print("            root=build/quick -- build/quick/reports/exp7.pdf")
    print("end it:   make slurm-stop")


if __name__ == "__main__":
    main()
