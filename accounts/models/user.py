"""The login, which is an e-mail address, and the letters (e-mails) that wait to leave."""

from typing import Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone


class UserManager(BaseUserManager["User"]):
    """Creates logins; e-mail addresses are stored in lower case."""

    def create_user(self, email: str, password: str | None = None, **extra: Any) -> "User":
        """A login without a password signs in by e-mail code."""
        user = self.model(email=email.strip().lower(), **extra)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **extra: Any) -> "User":
        """A member of staff who may do everything in the admin."""
        return self.create_user(email, password, is_staff=True, is_superuser=True, **extra)

    def get_by_natural_key(self, username: str | None) -> "User":
        """Any case finds the login."""
        return self.get(email__iexact=username)


class User(AbstractBaseUser, PermissionsMixin):  # type: ignore[django-manager-missing]  # the toolkit has no types
    """Someone who signs in: an owner or a member of an account, or staff. `is_active=False` is a disabled login."""

    email = models.EmailField(max_length=254, unique=True)
    is_staff = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)
    date_joined = models.DateTimeField(default=timezone.now)

    objects: ClassVar[UserManager] = UserManager()
    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        constraints = [models.UniqueConstraint(Lower("email"), name="user_email_unique_in_any_case")]

    def __str__(self) -> str:
        return f"login {self.pk}"


class Letter(models.Model):
    """An e-mail to a login that waits to leave: written with what it tells of, sent by a task, never twice at once."""

    account = models.ForeignKey("accounts.Account", on_delete=models.CASCADE, related_name="letters")
    kind = models.CharField(max_length=30)
    subject = models.CharField(max_length=150)
    body = models.TextField()
    created_at = models.DateTimeField()
    claimed_at = models.DateTimeField(null=True, blank=True)
    sent_at = models.DateTimeField(null=True, blank=True)
    tries = models.PositiveSmallIntegerField(default=0)

    class Meta:
        indexes = [models.Index(fields=["created_at"], condition=models.Q(sent_at=None), name="letter_waiting")]

    def __str__(self) -> str:
        return f"letter {self.pk} ({self.kind})"
