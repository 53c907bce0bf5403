"""The entry of the pages in the index of Django's admin; it only leads there (Contract 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import NoReverseMatch

from cogworker_django.models import Dashboard
from cogworker_django.web.access import VIEW, has_right

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Dashboard]
else:
    ModelAdmin = admin.ModelAdmin


@admin.register(Dashboard)
class DashboardAdmin(ModelAdmin):
    """Shows for those who may see the pages."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Tell whether the entry is shown."""
        return has_right(request, VIEW)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Tell whether it is a link."""
        return has_right(request, VIEW)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """There is nothing to add."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """There is nothing to change."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """There is nothing to delete."""
        return False

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Lead to the pages."""
        try:
            return redirect("cogworker:overview")
        except NoReverseMatch:
            return HttpResponse(
                'The pages have no address: add path("cogworker/", include("cogworker_django.urls")) to the URLs.',
                content_type="text/plain; charset=utf-8",
                status=404,
            )
