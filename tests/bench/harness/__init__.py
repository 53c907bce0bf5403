"""The measuring side: starts servers, clients and workers, and watches them from outside.

It imports no peer and no Django. `environments`, `options` and `places` need the standard library only.
"""
