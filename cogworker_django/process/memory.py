"""How much memory this process takes."""

from __future__ import annotations

from pathlib import Path

STATUS = Path("/proc/self/status")


def resident_kb() -> int | None:
    """The memory that this process occupies, in KiB; None where the system does not tell."""
    try:
        lines = STATUS.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    sizes = [line.split()[1] for line in lines if line.startswith("VmRSS:")]
    return int(sizes[0]) if sizes else None
