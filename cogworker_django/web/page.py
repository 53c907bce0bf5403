"""What all pages have in common: who may see them, how they answer when Redis is away, their headers."""

from __future__ import annotations

import hashlib
import logging
import re
import uuid
from typing import Any, ClassVar
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render, resolve_url
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views import View
from django.views.decorators.csrf import csrf_protect

from cogworker_django.api.snapshot import Snapshot, Wanted, look
from cogworker_django.core.errors import (
    ConfigurationError,
    RedisDenied,
    RedisRefused,
    RedisUnavailable,
)
from cogworker_django.core.text import one_line
from cogworker_django.web import access, notices
from cogworker_django.web.frame import frame, user_name, web_config
from cogworker_django.web.headers import seal
from cogworker_django.web.links import Links
from cogworker_django.web.notices import Notice

logger = logging.getLogger("cogworker.web")

LIVE, VERSION = "X-Cogworker-Live", "X-Cogworker-Version"
SECRETS = re.compile(rb'name="(csrfmiddlewaretoken|op)" value="[^"]*"')
"""What differs from one rendering to the next although nothing has changed."""
RETRY_AFTER = "5"  # seconds
SEE_OTHER = 303


class Page(View):
    """A page: guarded, sealed, and told in plain words when it cannot be shown."""

    http_method_names = ["get", "head", "post", "options"]  # noqa: RUF012 - as Django has it
    tab: ClassVar[str] = ""
    """The slug of its tab."""
    template: ClassVar[str] = ""
    changes: ClassVar[bool] = True
    """Whether a POST changes something that `READ_ONLY` forbids."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer; nothing leaves without the headers."""
        return seal(self._protected(request, *args, **kwargs))

    @method_decorator(csrf_protect)
    def _protected(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        refusal = self._refusal(request)
        if refusal is not None:
            return refusal
        try:
            return super().dispatch(request, *args, **kwargs)
        except (RedisUnavailable, RedisRefused, ConfigurationError) as error:
            return unavailable(request, error, self.tab)

    def _refusal(self, request: HttpRequest) -> HttpResponseBase | None:
        if not access.is_known(request):
            login = resolve_url(web_config().login_url or settings.LOGIN_URL)
            mark = "&" if "?" in login else "?"
            return HttpResponseRedirect(f"{login}{mark}{urlencode({'next': request.get_full_path()})}")
        if not access.has_right(request, access.VIEW):
            return forbidden(request, _("You need the permission cogworker.view_dashboard to see these pages."))
        if request.method in access.SAFE:
            return None
        if not access.comes_from_here(request):
            return forbidden(request, _("This request did not come from these pages, so nothing was changed."))
        if self.changes and web_config().read_only:
            return forbidden(request, _("These pages are read-only here, so nothing was changed."))
        return None

    def show(
        self,
        snapshot: Snapshot | None,
        context: dict[str, Any],
        *,
        title: str = "",
        template: str = "",
        status: int = 200,
    ) -> HttpResponse:
        """Render the page.

        Args:
            snapshot: what was seen of the installation.
            context: what the template shows.
            title: of the page; empty for its tab's label.
            template: if not the page's own.
            status: of the answer.
        """
        around = frame(self.request, tab=self.tab, title=title, snapshot=snapshot)
        response = render(self.request, template or self.template, {**context, **around}, status=status)
        known = self.request.headers.get(LIVE)
        if known is not None:
            # A refresh tells nothing of notices: they stand on the page that first showed them.
            return refreshed(response, known)
        notices.told(self.request, response, self.links.mount)
        return response

    def done(self, *told: Notice, to: str = "") -> HttpResponse:
        """Answer a POST: back to the page, which tells what was done.

        Args:
            told: what was done.
            to: where, if not where the request came from by its field `next`, or this page.
        """
        wanted = to or self.request.POST.get("next", "")
        target = wanted if self.links.is_ours(wanted) else self.request.get_full_path()
        response = HttpResponseRedirect(target)
        response.status_code = SEE_OTHER
        for notice in told:
            logger.info("%s at %s: %s", user_name(self.request), one_line(self.request.path), one_line(notice.text))
        notices.send(response, list(told), self.links.mount, secure=self.request.is_secure())
        return response

    def confirmed(self, question: str, lines: list[str], button: str) -> HttpResponse | None:
        """Ask before something that cannot be undone: None when the answer has come with the request.

        Args:
            question: what is asked.
            lines: what happens then.
            button: what the button says that does it.
        """
        if self.request.POST.get("confirmed") == "1":
            return None
        back = self.request.POST.get("next", "")
        fields = [
            (name, value)
            for name, values in self.request.POST.lists()
            for value in values
            if name not in ("csrfmiddlewaretoken", "confirmed")
        ]
        context = {
            "question": question,
            "lines": lines,
            "button": button,
            "fields": fields,
            "back": back if self.links.is_ours(back) else self.request.get_full_path(),
        }
        return self.show(None, context, title=question, template="cogworker/confirm.html")

    def may(self, right: str) -> None:
        """Go on only with a right.

        Args:
            right: the name of the permission.

        Raises:
            NotAllowed: whoever asks does not have it.
        """
        if not access.has_right(self.request, right):
            raise NotAllowed(right)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Do what the pressed button says, if whoever asks may."""
        try:
            return self.act(request, *args, **kwargs)
        except NotAllowed as error:
            sentence = _("You need the permission cogworker.%(right)s for this. Nothing was changed.")
            return forbidden(request, sentence % {"right": error.right})

    def act(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Do it; a page without buttons does nothing."""
        return self.http_method_not_allowed(request)

    @property
    def links(self) -> Links:
        """Makes addresses."""
        return Links(self.request)

    def look(self, wanted: Wanted | None = None) -> Snapshot:
        """Look at the installation."""
        return look(wanted or Wanted())


def refreshed(response: HttpResponse, known: str) -> HttpResponse:
    """Answer a refresh: nothing when the page is still the same.

    Args:
        response: the page as it is now.
        known: the version that the browser shows.
    """
    version = hashlib.sha1(SECRETS.sub(b"", response.content), usedforsecurity=False).hexdigest()[:16]
    if version == known:
        response = HttpResponse(status=204)
    response[VERSION] = version
    return response


class NotAllowed(Exception):
    """Whoever asks does not have the right.

    Args:
        right: the name of the permission.
    """

    def __init__(self, right: str) -> None:
        self.right = right
        super().__init__(right)


def forbidden(request: HttpRequest, sentence: str) -> HttpResponse:
    """Answer 403 with one sentence."""
    context = {"sentence": sentence, "heading": _("Not allowed"), **frame(request, title=_("Not allowed"))}
    return render(request, "cogworker/sentence.html", context, status=403)


def missing(page: Page, sentence: str, snapshot: Snapshot | None = None) -> HttpResponse:
    """Answer 404 with one sentence."""
    context = {"sentence": sentence, "heading": _("Not found")}
    return page.show(snapshot, context, title=_("Not found"), template="cogworker/sentence.html", status=404)


def unavailable(request: HttpRequest, error: Exception, tab: str = "") -> HttpResponse:
    """Answer 503 with one sentence, and keep the rest for the log: an address may hold a password (Contract 6)."""
    number = uuid.uuid4().hex[:8]
    logger.error("a page could not be shown (%s): %s: %s", number, type(error).__name__, error)
    sentence = _sentence(error)
    if request.method not in access.SAFE:
        sentence += " " + _("What you asked for may or may not have happened: look again when Redis is back.")
    context = {"sentence": sentence, "heading": _("Not available"), "number": number}
    context |= frame(request, tab=tab, title=_("Not available"))
    response = render(request, "cogworker/sentence.html", context, status=503)
    response["Retry-After"] = RETRY_AFTER
    return response


def _sentence(error: Exception) -> str:
    if isinstance(error, ConfigurationError):
        return _("The settings are at fault: manage.py check tells what is wrong with them.")
    if isinstance(error, RedisDenied):
        return _("Redis does not let us in: check the user and the password in the settings.")
    if isinstance(error, RedisRefused):
        if "OOM" in str(error):
            return _("Redis is full and takes no more writes.")
        return _("Redis refused a command: the log tells which.")
    text = str(error)
    if "LOADING" in text:
        return _("Redis is starting and reads its data.")
    if "READONLY" in text or "MASTERDOWN" in text:
        return _("Redis is changing over to another server.")
    return _("Redis does not answer.")
