"""The settings of the Django project that the scenarios' workers run in."""

import json
import os
from typing import Any

SECRET_KEY = "only for the tests"
INSTALLED_APPS = ["cogworker_django"]
USE_TZ = True
TIME_ZONE = "UTC"
COGWORKER: dict[str, Any] = json.loads(os.environ["SCENARIO_SETTINGS"])
