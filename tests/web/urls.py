"""The pages at the place where a project has them, and what a project has besides."""

from django.apps import apps
from django.contrib import admin
from django.urls import include, path

urlpatterns = [path("ops/jobs/", include("cogworker_django.urls"))]
if apps.is_installed("django.contrib.admin"):
    urlpatterns.append(path("admin/", admin.site.urls))
