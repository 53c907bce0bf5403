"""A Django project that uses cogworker_django as any other would."""
