"""The addresses of signing in; allauth finds its pages by these names."""

from allauth.socialaccount.providers.google.urls import urlpatterns as google_patterns
from django.conf import settings
from django.urls import URLPattern, URLResolver, include, path

from accounts.views import sign_in

urlpatterns: list[URLPattern | URLResolver] = [
    path("sign-in/", sign_in.sign_in_page, name="account_login"),
    path("sign-in/code/", sign_in.code_page, name="account_confirm_login_code"),
    path("sign-in/code/again/", sign_in.send_again, name="account_send_again"),
    path("sign-in/disabled/", sign_in.disabled_page, name="account_inactive"),
    path("sign-up/", sign_in.sign_up_page, name="account_signup"),
    path("sign-out/", sign_in.sign_out_page, name="account_logout"),
]
if settings.GOOGLE_CLIENT_ID:
    urlpatterns += [
        path("sign-in/with/", include("allauth.socialaccount.urls")),
        path("sign-in/with/", include(google_patterns)),
    ]
