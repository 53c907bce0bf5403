from __future__ import annotations

from types import TracebackType

from cogworker_django.core.text import BACKTRACE_FRAMES, backtrace


def error_of(namespace: dict[str, object], source: str) -> ValueError:
    """The error of a function `run` that is defined in a module of the given globals, under a frame of this test."""
    exec(compile(source, "module.py", "exec"), namespace)
    try:
        namespace["run"]()  # type: ignore[operator]
    except ValueError as error:
        return error
    raise AssertionError


FAILS = "def run():\n    raise ValueError('x')\n"
CALLS = "def run():\n    job()\n"


def within(error: ValueError) -> ValueError:
    """Without the frame of `raised`, as in a worker whose own frames are the outermost."""
    outermost: TracebackType | None = error.__traceback__
    assert outermost is not None
    return error.with_traceback(outermost.tb_next)


def test_a_backtrace_of_one_error_is_its_frames_and_its_message() -> None:
    error = within(error_of({"__name__": "shop"}, FAILS))
    assert backtrace(error) == [
        "Traceback (most recent call last):",
        '  File "module.py", line 2, in run',
        "ValueError: x",
    ]


def test_a_backtrace_leaves_out_our_frames_above_those_of_the_job() -> None:
    def job() -> None:
        raise ValueError("x")

    text = "\n".join(backtrace(within(error_of({"__name__": "cogworker_django.worker", "job": job}, CALLS))))
    assert "in job" in text
    assert "module.py" not in text


def test_a_backtrace_keeps_our_frames_below_those_of_the_job() -> None:
    ours: dict[str, object] = {"__name__": "cogworker_django.core"}
    exec(compile(FAILS, "ours.py", "exec"), ours)
    text = "\n".join(backtrace(within(error_of({"__name__": "shop", "job": ours["run"]}, CALLS))))
    assert text.index("module.py") < text.index("ours.py")


def test_a_backtrace_of_our_frames_only_shows_them_all() -> None:
    text = "\n".join(backtrace(within(error_of({"__name__": "cogworker_django.worker"}, FAILS))))
    assert "module.py" in text


def test_a_frame_of_a_module_without_a_name_is_the_jobs() -> None:
    namespace: dict[str, object] = {"job": int, "__builtins__": __builtins__}
    assert "module.py" in "\n".join(backtrace(within(error_of(namespace, FAILS))))


# Calls itself at two places in turn, as frames that repeat are drawn together.
DEEP = """
def deeper(levels):
    if not levels:
        raise ValueError('bottom')
    if levels % 2:
        deeper(levels - 1)
    else:
        deeper(levels - 1)

def run():
    deeper(300)
"""


def test_a_backtrace_keeps_the_innermost_frames() -> None:
    """Of code whose source cannot be read a frame is one line, so that more would have room."""
    lines = backtrace(error_of({"__name__": "shop"}, DEEP))
    places = [line.strip() for line in lines if line.lstrip().startswith("File ")]
    assert len(places) == BACKTRACE_FRAMES
    assert set(places) == {f'File "module.py", line {number}, in deeper' for number in (4, 6, 8)}
    assert lines[-1] == "ValueError: bottom"


def test_a_suppressed_context_costs_nothing() -> None:
    class Counted(ValueError):
        asked = 0

        def __str__(self) -> str:
            Counted.asked += 1
            return "context"

    error = KeyError("x")
    error.__context__, error.__suppress_context__ = Counted(), True
    assert backtrace(error) == ["KeyError: 'x'"]
    assert Counted.asked == 0


def test_a_message_that_ends_in_blanks_keeps_them() -> None:
    assert backtrace(ValueError("x \t")) == ["ValueError: x \t"]
    assert backtrace(ValueError("X")) == ["ValueError: X"]
