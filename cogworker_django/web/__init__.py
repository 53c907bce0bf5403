"""The web pages: views, presenters, charts, access.

May import `core`, `runtime` and `api`, and Django.
"""
