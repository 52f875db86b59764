"""What code sees on macOS, in a process whose PYTHONPATH begins with this folder.

Names that only Linux has are gone, our code finds no /proc, and each process has another host name,
as on a laptop that changes its network. `sysctl`, beside this file, comes from PATH.
"""

import fcntl
import os
import signal
import socket
import sys
import time
from typing import Any

ABSENT = {
    os: ("pidfd_open", "sched_getaffinity", "posix_fadvise", "posix_fallocate", "O_TMPFILE"),
    signal: ("pidfd_send_signal",),
    socket: ("SOCK_SEQPACKET",),
    time: ("CLOCK_BOOTTIME",),
}
for module, names in ABSENT.items():
    for name in names:
        delattr(module, name)
fcntl.F_FULLFSYNC = 51  # type: ignore[attr-defined]
socket.gethostname = lambda: f"laptop-{os.getpid()}"


def _hide(event: str, arguments: tuple[Any, ...]) -> None:
    if event not in ("open", "os.listdir", "os.scandir") or not arguments:
        return
    if isinstance(arguments[0], str) and arguments[0].startswith("/proc"):
        frame = sys._getframe()
        while frame := frame.f_back:
            if "/psutil/" in frame.f_code.co_filename:  # it would ask the kernel
                return
            if frame.f_globals.get("__name__", "").startswith("journeylab."):
                raise FileNotFoundError(arguments[0])


sys.addaudithook(_hide)
