"""Only a soak collects these tests: whoever runs the others neither waits for them nor sees them skipped."""

from tests.scenarios.conftest import rig, seeded, start_rig
from tests.scenarios.scale import LONG

__all__ = ["collect_ignore_glob", "rig", "seeded", "start_rig"]

collect_ignore_glob = [] if LONG else ["test_*.py"]
