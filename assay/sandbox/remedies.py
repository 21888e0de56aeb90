"""Remedies where a level of the sandbox does not hold, read from this machine: a package, a setting, an option.

A probe says what was reached or could not be started. The kernel does not say why, but the settings that are known to
close a level do.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from assay.sandbox.inside import confine
from assay.sandbox.limits import Level

SETTINGS = Path("/proc/sys")
_ADMIN = 1 << 21  # CAP_SYS_ADMIN, in the sets of /proc/self/status
_CLOSES = {  # a setting, the value by which it closes user namespaces, and the command that opens them
    "user/max_user_namespaces": ("0", "sudo sysctl -w user.max_user_namespaces=15000"),
    "kernel/unprivileged_userns_clone": ("0", "sudo sysctl -w kernel.unprivileged_userns_clone=1"),
    "kernel/apparmor_restrict_unprivileged_userns": (
        "1",
        "sudo apt-get install apparmor-profiles && sudo cp /usr/share/apparmor/extra-profiles/bwrap-userns-restrict "
        "/etc/apparmor.d/ && sudo apparmor_parser -r /etc/apparmor.d/bwrap-userns-restrict",
    ),
}
_LANDLOCK = {
    errno.ENOSYS: "this kernel has no Landlock: it came with Linux 5.13, where it was built in "
    "(CONFIG_SECURITY_LANDLOCK); a container whose filter of system calls does not know it looks the same, and then a "
    "newer container runtime, or its option for another filter (`--security-opt seccomp=FILE`), helps",
    errno.EOPNOTSUPP: "this kernel has Landlock and does not use it: put it first in the boot parameter, "
    "`lsm=landlock,...` before the names in /sys/kernel/security/lsm, and start the machine again",
}


def remedies(level: Level) -> list[str]:
    """The obstacles to a level here, each with the command or option that removes it; empty if none is known."""
    return [*_of_landlock(), *(_of_namespaces() if level == "L2" else ())]


def _of_landlock() -> Iterator[str]:
    if (number := confine.landlock_error()) != 0:
        other = (
            f"the container refuses Landlock ({os.strerror(number)}): start it with a filter of system calls that "
            "allows landlock_create_ruleset, landlock_add_rule and landlock_restrict_self "
            "(`--security-opt seccomp=FILE`)"
        )
        yield _LANDLOCK.get(number, other)


def _of_namespaces() -> Iterator[str]:
    if shutil.which("bwrap") is None:
        yield "install bubblewrap: `apt-get install bubblewrap`, or `dnf install bubblewrap`"
        return  # other obstacles to namespaces show only when bubblewrap tries to make them
    if os.geteuid() == 0:
        if not _may_administer():
            yield (
                "this process is root without the right to make namespaces (CAP_SYS_ADMIN): start the container with "
                "`--cap-add SYS_ADMIN --security-opt apparmor=unconfined`, or start assay as another user where user "
                "namespaces are allowed"
            )
        return
    for name, (closed, opens) in _CLOSES.items():
        if _setting(name) == closed:
            yield f"{name.replace('/', '.')} is {closed}, which closes user namespaces: `{opens}`"
    if _in_container():
        yield (
            "this is a container, whose filter of system calls may refuse user namespaces: start it with "
            "`--security-opt seccomp=unconfined`"
        )


def _may_administer() -> bool:
    for line in Path("/proc/self/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "CapEff":
            return bool(int(value, 16) & _ADMIN)
    return True


def _in_container() -> bool:
    return Path("/.dockerenv").exists() or Path("/run/.containerenv").exists()


def _setting(name: str) -> str | None:
    try:
        return (SETTINGS / name).read_text().strip()
    except OSError:
        return None  # this kernel does not have it
