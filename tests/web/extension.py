"""A tab of a project, as a module of views with its URLs."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import path

from cogworker_django.web.extend import render_tab


def hello(request: HttpRequest, name: str = "nobody") -> HttpResponse:
    return render_tab(
        request, "cogworker/sentence.html", {"sentence": f"Hello {name}", "heading": "Greetings"}, tab="hi"
    )


urlpatterns = [path("", hello), path("<str:name>/", hello, name="one")]
