"""The pages at the place where a project has them, and what a project has besides."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("ops/jobs/", include("cogworker_django.urls")),
    path("admin/", admin.site.urls),
]
