"""The addresses of the pages: `path("cogworker/", include("cogworker_django.urls"))` (Contract 6)."""

from cogworker_django.web.routes import routes

app_name = "cogworker"
urlpatterns = routes()
