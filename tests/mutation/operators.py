"""The faults that a line of Lua can have: a small grammar of what goes wrong in scripts for Redis."""

from __future__ import annotations

import re
from collections.abc import Iterator

TOKEN = re.compile(
    r"""(?P<comment>--.*)|(?P<string>'[^']*'|"[^"]*")|(?P<number>\d+)|(?P<name>[A-Za-z_][\w.]*)"""
    r"""|(?P<operator>==|~=|<=|>=|\.\.\.|\.\.|[-+*/<>=#(){}\[\],;:%])"""
)
OPENING = re.compile(r"\b(?:function|then|do|repeat)\b")
CLOSING = re.compile(r"\b(?:end|until)\b")
CONDITION = re.compile(r"\b(?P<word>if|elseif|while)\b (?P<condition>.+?) (?=then\b|do\b)")

OPERATORS = {
    "==": ("~=",),
    "~=": ("==",),
    "<": ("<=", ">="),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    ">=": (">", "<"),
    "+": ("-",),
    "-": ("+",),
    "*": ("/",),
    "/": ("*",),
}
NAMES = {
    "and": ("or",),
    "or": ("and",),
    "true": ("false",),
    "false": ("true",),
    "redis.call": ("redis.pcall",),
    "redis.pcall": ("redis.call",),
    "math.min": ("math.max",),
    "math.max": ("math.min",),
    "math.floor": ("math.ceil",),
}
WORDS = {
    "LPUSH": ("RPUSH",),
    "RPUSH": ("LPUSH",),
    "LPOP": ("RPOP",),
    "RPOP": ("LPOP",),
    "LEFT": ("RIGHT",),
    "RIGHT": ("LEFT",),
    "SADD": ("SREM",),
    "SREM": ("SADD",),
    "INCRBY": ("DECRBY",),
    "DECRBY": ("INCRBY",),
    "EX": ("PX",),
    "PX": ("EX",),
    "-inf": ("+inf",),
    "+inf": ("-inf",),
}
# Commands that fail neither for the type of a key nor for want of memory: call and pcall are one.
NEVER_FAIL = re.compile(r"\('(?:DEL|EXISTS|EXPIRE|TIME|TYPE)'")


def mutations(line: str) -> Iterator[tuple[str, str]]:
    """All faults of one line: the name of the operator, and the line with the fault, empty when it is dropped."""
    if not line.strip() or line.lstrip().startswith("--"):
        return
    if _stands_alone(line):
        yield "drop the line", ""
    yield from _conditions(line)
    for match in TOKEN.finditer(line):
        kind, text = match.lastgroup, match[0]
        if kind == "comment":
            return
        if text.startswith("redis.") and NEVER_FAIL.match(line, match.end()):
            continue
        for operator, changed in _token(kind, text, line[: match.start()]):
            yield operator, line[: match.start()] + changed + line[match.end() :]
        if text == "not":
            yield "drop not", line[: match.start()] + line[match.end() + 1 :]


def _stands_alone(line: str) -> bool:
    """Whether the rest is still a program without it."""
    code = re.sub(r"'[^']*'|\"[^\"]*\"|--.*", "", line)
    blocks = len(OPENING.findall(code)) == len(CLOSING.findall(code))
    brackets = all(code.count(first) == code.count(last) for first, last in ("()", "{}", "[]"))
    return blocks and brackets and bool(code.strip()) and code.strip() not in ("else", "end")


def _conditions(line: str) -> Iterator[tuple[str, str]]:
    for match in CONDITION.finditer(line):
        start, end = match.span("condition")
        yield "never", f"{line[:start]}false{line[end:]}"
        if match["word"] != "while":
            yield "always", f"{line[:start]}true{line[end:]}"


def _token(kind: str | None, text: str, head: str) -> Iterator[tuple[str, str]]:
    if kind == "number":
        yield "one more", str(int(text) + 1)
        # No script has a key or an argument 0.
        if not re.search(r"(KEYS|ARGV)\[$", head) or text != "1":
            yield "one less", str(int(text) - 1)
    elif kind == "operator":
        yield from (("other operator", changed) for changed in OPERATORS.get(text, ()))
    elif kind == "name":
        yield from (("other word", changed) for changed in NAMES.get(text, ()))
    elif kind == "string":
        yield from _string(text, head)


def _string(text: str, head: str) -> Iterator[tuple[str, str]]:
    quote, word = text[0], text[1:-1]
    yield from (("other command", quote + changed + quote) for changed in WORDS.get(word, ()))
    # A command that does not exist is a dropped line once more.
    if not re.search(r"redis\.p?call\($", head):
        yield "other text", f"{quote}XX{word}{quote}"
