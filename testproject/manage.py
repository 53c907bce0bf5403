"""The command line of the project that shows cogworker_django at work."""

import os
import sys
from pathlib import Path

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    # In a checkout, so that it runs without installing the package; an installed one comes first.
    sys.path.append(str(Path(__file__).resolve().parent.parent))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")
    execute_from_command_line(sys.argv)
