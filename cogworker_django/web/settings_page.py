"""Where the choices of a reader are set."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from cogworker_django.web.page import SEE_OTHER, Page
from cogworker_django.web.preferences import Preferences


class PreferencesPage(Page):
    """Takes a choice and goes back; it has no page of its own and asks Redis nothing."""

    changes = False

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Go to the first page."""
        return HttpResponseRedirect(self.links.mount)

    def act(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Set the cookie and go back."""
        target = request.POST.get("next", "")
        response = HttpResponseRedirect(target if self.links.is_ours(target) else self.links.mount)
        response.status_code = SEE_OTHER
        chosen = Preferences.of(request).changed({name: str(value) for name, value in request.POST.items()})
        chosen.write(response, self.links.mount, secure=request.is_secure())
        return response
