"""Every Redis command, key and script of the product.

`Keys` names the keys, `connect` opens a client that never repeats a command by itself, `Scripts` loads the Lua
files of `lua/` (one transition a file, its contract on top), `Gateway` runs both and translates errors once.
The other modules are one subject each and are reached through `Store`.

May import: `core`. Nothing else in the package imports redis.
"""
