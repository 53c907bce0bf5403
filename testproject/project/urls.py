"""The pages, Django's admin, whose log-in they use, and the way to them."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="cogworker:overview")),
    path("cogworker/", include("cogworker_django.urls")),
    path("admin/", admin.site.urls),
]
