"""The addresses of workflows."""

from django.urls import URLPattern, URLResolver, path

from workflows import views

urlpatterns: list[URLPattern | URLResolver] = [path("workflows/", views.workflow_list, name="workflows")]
