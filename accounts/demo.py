"""The demo owner's sign-in link: signed, good for 15 minutes, and for one use."""

from datetime import datetime

from django.conf import settings
from django.core import signing
from django.db import transaction
from django.urls import reverse

from accounts.models import User

SALT = "accounts.demo-sign-in"
LINK_TTL_S = 900


def demo_link(user: User) -> str:
    """The address that signs this login in. It names the login's last sign-in, so that using it spends it."""
    return f"{settings.BASE_URL}{reverse('demo-sign-in')}?token={signing.dumps(_claim(user), salt=SALT, compress=True)}"


def use_demo_link(token: str, *, now: datetime) -> User | None:
    """The login that a link is for; None when it is broken, too old or was used. Marks it as used."""
    try:
        pk, _ = claim = signing.loads(token, salt=SALT, max_age=LINK_TTL_S)
    except (signing.BadSignature, ValueError, TypeError):
        return None
    with transaction.atomic():
        user = User.objects.select_for_update().filter(pk=pk, is_active=True).first()
        if user is None or _claim(user) != claim:
            return None
        user.last_login = now
        user.save(update_fields=["last_login"])
    return user


def _claim(user: User) -> list[int | str]:
    return [user.pk, user.last_login.isoformat() if user.last_login else ""]
