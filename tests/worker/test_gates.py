from __future__ import annotations

import threading
import time

from cogworker_django.worker.gates import Alarm, Gate, WaitingRoom


def test_a_gate_opened_before_the_wait_lets_it_pass_at_once_and_only_once() -> None:
    gate = Gate()
    gate.open()
    gate.open()
    assert gate.wait(0)
    assert not gate.wait(0)


def test_a_wait_without_an_opening_ends_with_its_timeout() -> None:
    assert not Gate().wait(0.01)


def test_a_waiting_thread_goes_on_when_the_gate_opens() -> None:
    gate = Gate()
    thread = threading.Thread(target=gate.wait, args=(10,))
    thread.start()
    gate.open()
    thread.join(5)
    assert not thread.is_alive()


def test_the_thread_that_began_to_wait_last_is_woken_and_no_other() -> None:
    room, gates = WaitingRoom(), [Gate() for _ in range(3)]
    for gate in gates:
        room.enter(gate)
    room.wake_one()
    assert [gate.wait(0) for gate in gates] == [False, False, True]
    assert len(room) == 2


def test_waking_nobody_is_harmless() -> None:
    WaitingRoom().wake_one()
    WaitingRoom().wake_all()


def test_all_are_woken() -> None:
    room, gates = WaitingRoom(), [Gate() for _ in range(3)]
    for gate in gates:
        room.enter(gate)
    room.wake_all()
    assert [gate.wait(0) for gate in gates] == [True, True, True]
    assert len(room) == 0


def test_who_leaves_is_no_longer_woken() -> None:
    room, gate, other = WaitingRoom(), Gate(), Gate()
    room.enter(other)
    room.enter(gate)
    room.leave(gate)
    room.wake_one()
    assert other.wait(0)
    assert not gate.wait(0)


def test_a_wake_up_for_a_thread_that_leaves_at_that_moment_goes_to_another() -> None:
    """The wake-up stands for work: without this the work would lie until the next one."""
    room, gate, other = WaitingRoom(), Gate(), Gate()
    room.enter(other)
    room.enter(gate)
    room.wake_one()
    room.leave(gate)
    assert other.wait(0)
    assert not gate.wait(0)


def test_an_alarm_wakes_the_sleeper() -> None:
    alarm = Alarm()
    asleep = threading.Event()

    def needed() -> bool:
        asleep.set()
        return False

    thread = threading.Thread(target=alarm.sleep, args=(10.0, needed))
    thread.start()
    assert asleep.wait(5)
    alarm.ring()
    thread.join(5)
    assert not thread.is_alive()


def test_an_alarm_does_not_sleep_when_there_is_something_already() -> None:
    began = time.monotonic()
    Alarm().sleep(10.0, lambda: True)
    assert time.monotonic() - began < 1


def test_what_comes_between_the_question_and_the_sleep_is_not_missed() -> None:
    alarm = Alarm()

    def needed() -> bool:
        alarm.ring()
        return False

    began = time.monotonic()
    alarm.sleep(10.0, needed)
    assert time.monotonic() - began < 1
