"""A Django app with the jobs of this project's own worker, found as `jobs` of an installed app."""
