"""Sign-in, sign-up and sign-out by a code that comes by e-mail (behaviour, Accounts)."""

import logging
from smtplib import SMTPException
from typing import cast

from allauth.account.adapter import get_adapter
from allauth.account.internal.flows.login import perform_login, record_authentication
from allauth.account.models import Login
from allauth.core import ratelimit
from django import forms
from django.conf import settings
from django.contrib.auth import logout
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts import codes_by_mail, people
from accounts.adapter import SIGN_UP_FLAG
from accounts.codes_by_mail import Challenge
from accounts.models import User
from breakpass.errors import Refusal
from breakpass.text import NAME_MAX_CHARS, clean_name

log = logging.getLogger(__name__)
CHALLENGE_KEY = "mail_challenge"
GOOGLE = "https://accounts.google.com"


class EmailForm(forms.Form):
    """The address that the code goes to."""

    email = forms.EmailField(
        label="E-mail", max_length=254, widget=forms.EmailInput({"autocomplete": "email", "autofocus": True})
    )


class SignUpForm(EmailForm):
    """The address, and what to call the owner."""

    name = forms.CharField(
        label="Your name",
        max_length=NAME_MAX_CHARS,
        help_text="Agents use it to greet you and to name you in alerts.",
        widget=forms.TextInput({"autocomplete": "given-name"}),
    )
    field_order = ("name", "email")

    def clean_name(self) -> str:
        """As all names are cleaned; `owner` is a word of the contract."""
        name = clean_name(self.cleaned_data["name"])
        if not name:
            raise forms.ValidationError("Enter a name.")
        if name.casefold() == "owner":
            raise forms.ValidationError("“owner” has a meaning of its own here. Choose another name.")
        return name


class CodeForm(forms.Form):
    """The code that came."""

    code = forms.CharField(
        label="Code",
        max_length=20,
        widget=forms.TextInput(
            {"autocomplete": "one-time-code", "inputmode": "numeric", "autofocus": True, "class": "code-input"}
        ),
    )


@never_cache
@ensure_csrf_cookie
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in_page(request: HttpRequest) -> HttpResponse:
    """Asks for the e-mail address; the answer is the same whether or not it is known."""
    next_url = safe_next(request)
    if request.user.is_authenticated and "again" not in request.GET and request.method != "POST":
        return redirect(next_url or settings.LOGIN_REDIRECT_URL)
    form = EmailForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid() and send_code(request, form, next_url=next_url):
        return redirect("account_confirm_login_code")
    request.session.pop(SIGN_UP_FLAG, None)
    return show(request, "account/sign_in.html", form, next_url)


@never_cache
@ensure_csrf_cookie
@require_http_methods(["GET", "HEAD", "POST"])
def sign_up_page(request: HttpRequest) -> HttpResponse:
    """Opens an account once the address is proven; closed when settings.SIGN_UP_OPEN is off."""
    next_url = safe_next(request)
    if request.user.is_authenticated:
        return redirect(next_url or settings.LOGIN_REDIRECT_URL)
    if not settings.SIGN_UP_OPEN:
        return render(request, "account/sign_up_closed.html", status=403)
    form = SignUpForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        if send_code(request, form, next_url=next_url, is_sign_up=True, owner_name=form.cleaned_data["name"]):
            return redirect("account_confirm_login_code")
    elif settings.GOOGLE_CLIENT_ID and request.method == "GET":
        request.session[SIGN_UP_FLAG] = True
    return show(request, "account/sign_up.html", form, next_url)


def show(request: HttpRequest, template: str, form: forms.Form, next_url: str) -> HttpResponse:
    """A page with an e-mail form, from which a click may also lead to Google."""
    context = {
        "form": form,
        "next_url": next_url,
        "is_connecting": next_url.startswith("/authorize"),
        "has_google": bool(settings.GOOGLE_CLIENT_ID),
        "is_open": settings.SIGN_UP_OPEN,
    }
    response = render(request, template, context, status=422 if form.is_bound else 200)
    if settings.GOOGLE_CLIENT_ID:
        response._csp_update = {"form-action": [GOOGLE]}  # type: ignore[attr-defined]  # read by django-csp
    return response


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def code_page(request: HttpRequest) -> HttpResponse:
    """Takes the code. Only now is it said whether there is an account."""
    challenge = Challenge.from_session(request.session.get(CHALLENGE_KEY))
    if challenge is None:
        return redirect("account_login")
    form = CodeForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            codes_by_mail.check(challenge, form.cleaned_data["code"], now=timezone.now())
        except Refusal as refusal:
            form.add_error("code", refusal.message)
        else:
            del request.session[CHALLENGE_KEY]
            return enter(request, challenge)
    context = {"form": form, "email": challenge.email, "is_sign_up": challenge.is_sign_up}
    return render(request, "account/code.html", context, status=422 if form.is_bound else 200)


@never_cache
@require_POST
def send_again(request: HttpRequest) -> HttpResponse:
    """A new code to the same address; the old one is void."""
    challenge = Challenge.from_session(request.session.get(CHALLENGE_KEY))
    if challenge is None:
        return redirect("account_login")
    form = EmailForm({"email": challenge.email})
    form.is_valid()
    sent = send_code(
        request,
        form,
        next_url=challenge.next_url,
        is_sign_up=challenge.is_sign_up,
        owner_name=challenge.owner_name,
    )
    if sent:
        return redirect("account_confirm_login_code")
    code_form = CodeForm()
    problem = " ".join(str(error) for error in form.errors.get("email", []))
    context = {"form": code_form, "email": challenge.email, "is_sign_up": challenge.is_sign_up, "problem": problem}
    return render(request, "account/code.html", context, status=429)


def send_code(
    request: HttpRequest, form: forms.Form, *, next_url: str, is_sign_up: bool = False, owner_name: str = ""
) -> bool:
    """Send a code and remember its challenge; on failure the form says why. Rate limits are allauth's."""
    email = str(form.cleaned_data["email"]).strip().lower()
    if not ratelimit.consume(request, action="request_login_code", key=email):
        form.add_error("email", "Too many codes were asked for. Wait a minute, then try again.")
        return False
    challenge, code = codes_by_mail.begin(
        email, now=timezone.now(), next_url=next_url, is_sign_up=is_sign_up, owner_name=owner_name
    )
    try:
        get_adapter(request).send_mail(
            "account/email/code", email, {"code": code, "service_name": settings.SERVICE_NAME}
        )
    except (OSError, SMTPException) as error:
        log.error("a sign-in code could not be sent: %s", type(error).__name__)
        form.add_error("email", "The e-mail could not be sent. Try again in a minute.")
        return False
    request.session[CHALLENGE_KEY] = challenge.as_session()
    return True


def enter(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """The address is proven: sign in, open the account, or say that there is none."""
    user = User.objects.filter(email__iexact=challenge.email).first()
    if user is None and not (challenge.is_sign_up and settings.SIGN_UP_OPEN):
        context = {
            "email": challenge.email,
            "next_url": challenge.next_url,
            "is_open": settings.SIGN_UP_OPEN,
            "is_connecting": challenge.next_url.startswith("/authorize"),
        }
        return render(request, "account/need_account.html", context, status=403)
    if user is None:
        user = open_account(challenge)
    if not user.is_active:
        return render(request, "account/disabled.html", status=403)
    record_authentication(request, user, method="code", email=challenge.email)
    target = challenge.next_url or settings.LOGIN_REDIRECT_URL
    return cast(HttpResponse, perform_login(request, Login(user=user, email=challenge.email, redirect_url=target)))


def open_account(challenge: Challenge) -> User:
    """A new login with its account and its own person; who was faster with the same address is simply found."""
    try:
        with transaction.atomic():
            user = User.objects.create_user(challenge.email)
            people.open_account(user, owner_name=challenge.owner_name, now=timezone.now())
            return user
    except IntegrityError:
        return User.objects.get(email__iexact=challenge.email)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_out_page(request: HttpRequest) -> HttpResponse:
    """Signs out on POST; a GET asks first, so that no link can do it."""
    if request.method == "POST":
        logout(request)
        return redirect(settings.LOGOUT_REDIRECT_URL)
    return render(request, "account/sign_out.html")


@never_cache
@require_safe
def disabled_page(request: HttpRequest) -> HttpResponse:
    """Where allauth sends a login that staff disabled."""
    return render(request, "account/disabled.html", status=403)


def safe_next(request: HttpRequest) -> str:
    """Where to go afterwards, if it is on this site; else nothing."""
    asked = request.POST.get("next") or request.GET.get("next") or ""
    is_ours = url_has_allowed_host_and_scheme(asked, allowed_hosts=None, require_https=request.is_secure())
    return asked if is_ours and asked.startswith("/") else ""
