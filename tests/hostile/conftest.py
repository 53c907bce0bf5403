from tests.scenarios.conftest import seeded
from tests.stores import store
from tests.worker.rigs import rigs

__all__ = ["rigs", "seeded", "store"]
