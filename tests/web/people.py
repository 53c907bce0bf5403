"""Readers with the rights that a test gives them; they live in the memory of the process, for all of its threads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.backends import BaseBackend
from django.contrib.auth.models import User

BACKEND = "tests.web.people.Memory"
_rights: dict[int, tuple[str, frozenset[str], bool]] = {}


class Person(User):
    """Somebody who is in no database."""

    class Meta:
        proxy = True
        app_label = "auth"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: a log-in is not remembered."""


class Memory(BaseBackend):
    """Knows the readers."""

    def get_user(self, user_id: int) -> Person | None:
        """Return a reader by their number."""
        number = int(user_id)
        if number not in _rights:
            return None
        name, _codenames, superuser = _rights[number]
        return Person(pk=number, username=name, is_superuser=superuser, is_staff=superuser)

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        """Tell whether a reader has a right."""
        return perm.partition(".")[2] in _rights[user_obj.pk][1]


def enrol(name: str, codenames: Iterable[str], *, superuser: bool) -> Person:
    """Make a reader known.

    Args:
        name: what they are called.
        codenames: of their permissions.
        superuser: whether they have all of them.
    """
    number = len(_rights) + 1
    _rights[number] = (name, frozenset(codenames), superuser)
    person = Memory().get_user(number)
    assert person is not None
    return person
