"""All settings, from the environment (docs/operations.md lists them). Defaults run a development machine.

One file, longer than others may be: a setting is looked for here, and nowhere else.
"""

import sys
from pathlib import Path
from typing import Any

import environ

from breakpass import embedded
from breakpass.ids import keyed_hash

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()
env_file = BASE_DIR / ".env"
# A test never depends on what a checkout is configured for.
if env_file.is_file() and "pytest" not in sys.modules:
    env.read_env(str(env_file))
# What `make run` started, when nothing else is configured: any manage.py command then finds the same servers.
DISCOVERED = embedded.discover(BASE_DIR)


def setting(name: str, default: str = "") -> str:
    """The environment's value, else what the embedded servers offer, else the default."""
    return str(env(name, default=DISCOVERED.get(name, default)))


# --- where we are -----------------------------------------------------------------------------------------------
ENVIRONMENT = setting("ENVIRONMENT", "development")
PRODUCTION = ENVIRONMENT == "production"
DEBUG = env.bool("DEBUG", default=False)
ALLOW_TEST_COMMANDS = not PRODUCTION or env.bool("ALLOW_TEST_COMMANDS", default=False)
PORT = env.int("PORT", default=8000)
BASE_URL = setting("BASE_URL", f"http://127.0.0.1:{PORT}").rstrip("/")
LINK_BASE_URL = setting("LINK_BASE_URL", BASE_URL).rstrip("/")
BASE_HOST = environ.urlparse(BASE_URL).hostname or "127.0.0.1"
LINK_HOST = environ.urlparse(LINK_BASE_URL).hostname or BASE_HOST
SECURE_SITE = BASE_URL.startswith("https://")
DEVELOPMENT_SECRET = "development-only-secret-key-0123456789-abcdefghijklmnopqrstuvwxyz"
SECRET_KEY = setting("SECRET_KEY", "" if PRODUCTION else DEVELOPMENT_SECRET)
# Two keys of their own, so that the web key can be changed without losing every number.
NUMBER_KEYS: list[str] = env.list("NUMBER_KEYS", default=[keyed_hash(SECRET_KEY, "number-encryption", "")])
NUMBER_HASH_KEY = setting("NUMBER_HASH_KEY", keyed_hash(SECRET_KEY, "number-hash", ""))
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=[]) or sorted(
    {BASE_HOST, LINK_HOST} | (set() if PRODUCTION else {"127.0.0.1", "localhost", "[::1]", "testserver"})
)

# --- Django -----------------------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "accounts",
    "workflows",
    "alerts",
    "confirmations",
    "mcp_gateway",
    "breakpass",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.google",
    "oauth2_provider",
    "django_htmx",
    "csp",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]
ROOT_URLCONF = "breakpass.urls"
WSGI_APPLICATION = "breakpass.wsgi.application"
# A webhook is answered where it was sent: no redirect to a slash (cases, 7).
APPEND_SLASH = False
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "breakpass.context.site",
            ],
        },
    }
]
DATABASE_URL = setting("DATABASE_URL", "postgres://breakpass@127.0.0.1:5432/breakpass")
DATABASES: dict[str, dict[str, Any]] = {"default": env.db_url_config(DATABASE_URL)}
DATABASES["default"].update(CONN_MAX_AGE=60, CONN_HEALTH_CHECKS=True, DISABLE_SERVER_SIDE_CURSORS=True)
DATABASES["default"].setdefault("OPTIONS", {})["application_name"] = "breakpass"
REDIS_URL = setting("REDIS_URL", "redis://127.0.0.1:6379/0")
CACHES = {
    "default": {
        "BACKEND": "breakpass.resting_cache.RestingRedisCache",
        "LOCATION": REDIS_URL,
        # A server that hangs holds requests up for moments only; what is cached can be done without.
        "OPTIONS": {"socket_connect_timeout": 0.5, "socket_timeout": 1.0},
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "/sign-in/"
LOGIN_REDIRECT_URL = "/start/"
LOGOUT_REDIRECT_URL = "/sign-in/"
LANGUAGE_CODE = "en"
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"
STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
# WhiteNoise warns about a folder that is not there; in development it serves from the apps' folders anyway.
STATIC_ROOT.mkdir(exist_ok=True)
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if PRODUCTION
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = not PRODUCTION
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 200
EMAIL_CONFIG = env.email_url_config(setting("EMAIL_URL", "consolemail://"))
EMAIL_BACKEND = EMAIL_CONFIG["EMAIL_BACKEND"]
EMAIL_HOST, EMAIL_PORT = EMAIL_CONFIG.get("EMAIL_HOST", ""), EMAIL_CONFIG.get("EMAIL_PORT") or 25
EMAIL_HOST_USER = EMAIL_CONFIG.get("EMAIL_HOST_USER") or ""
EMAIL_HOST_PASSWORD = EMAIL_CONFIG.get("EMAIL_HOST_PASSWORD") or ""
EMAIL_USE_TLS, EMAIL_USE_SSL = EMAIL_CONFIG.get("EMAIL_USE_TLS", False), EMAIL_CONFIG.get("EMAIL_USE_SSL", False)
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = SERVER_EMAIL = setting("FROM_EMAIL", f"BreakPass <no-reply@{BASE_HOST}>")

# --- browser safety ---------------------------------------------------------------------------------------------
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "manifest-src": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
        "form-action": ["'self'"],
    }
}
SESSION_COOKIE_NAME = "bp_session"
SESSION_COOKIE_AGE = 30 * 86400
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SITE
CSRF_COOKIE_NAME = "bp_csrf"
CSRF_TRUSTED_ORIGINS = sorted({BASE_URL, LINK_BASE_URL})
SECURE_SSL_REDIRECT = env.bool("SECURE_SSL_REDIRECT", default=SECURE_SITE and PRODUCTION)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
# Twilio and load balancers' health checks must be answered, never redirected.
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^webhooks/"]
SECURE_HSTS_SECONDS = 31_536_000 if SECURE_SITE else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = SECURE_SITE
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
TRUSTED_PROXY_COUNT = env.int("TRUSTED_PROXY_COUNT", default=0)

# --- sign-in (django-allauth): a code by e-mail, or Google when configured -----------------------------------------
SIGN_UP_OPEN = env.bool("SIGN_UP_OPEN", default=True)
GOOGLE_CLIENT_ID = setting("GOOGLE_CLIENT_ID")
GOOGLE_CLIENT_SECRET = setting("GOOGLE_CLIENT_SECRET")
ACCOUNT_ADAPTER = "accounts.adapter.AccountAdapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*"]
# A code by e-mail, or Google's word, has proven the address before anyone is signed in.
ACCOUNT_EMAIL_VERIFICATION = SOCIALACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
# Few enough that six digits cannot be guessed, even over weeks.
ACCOUNT_RATE_LIMITS = {"request_login_code": "20/m/ip,100/h/ip,3/m/key,10/h/key,30/d/key"}
SOCIALACCOUNT_ADAPTER = "accounts.adapter.SocialAccountAdapter"
SOCIALACCOUNT_EMAIL_AUTHENTICATION = SOCIALACCOUNT_EMAIL_AUTHENTICATION_AUTO_CONNECT = True
SOCIALACCOUNT_STORE_TOKENS = False
SOCIALACCOUNT_PROVIDERS = {
    "google": {
        "APPS": [{"client_id": GOOGLE_CLIENT_ID, "secret": GOOGLE_CLIENT_SECRET, "key": ""}],
        "SCOPE": ["email", "profile"],
        "OAUTH_PKCE_ENABLED": True,
        "VERIFIED_EMAIL": False,
    }
}

# --- who this installation is (behaviour, Accounts: the seed's values are the defaults) ---------------------------
SERVICE_NAME = setting("SERVICE_NAME", "BreakPass")
SERVICE_BY = setting("SERVICE_BY", "X Labs")
SPOKEN_ADDRESS = setting("SPOKEN_ADDRESS", "3 3 2, 2 8 7, 9 2 0 0")
SUPPORT_EMAIL = setting("SUPPORT_EMAIL", f"support@{BASE_HOST}")

# --- carrier ------------------------------------------------------------------------------------------------------
TWILIO_ACCOUNT_SID = setting("TWILIO_ACCOUNT_SID")
TWILIO_AUTH_TOKEN = setting("TWILIO_AUTH_TOKEN")
# During a rotation Twilio may still sign with the other token.
TWILIO_AUTH_TOKEN_SECONDARY = setting("TWILIO_AUTH_TOKEN_SECONDARY")
TWILIO_API_URL = setting("TWILIO_API_URL", "https://api.twilio.com").rstrip("/")
TWILIO_CONTENT_API_URL = setting("TWILIO_CONTENT_API_URL", "https://content.twilio.com").rstrip("/")
TWILIO_SMS_FROM = setting("TWILIO_SMS_FROM")
TWILIO_SMS_FROM_ALPHANUMERIC = setting("TWILIO_SMS_FROM_ALPHANUMERIC")
TWILIO_WHATSAPP_FROM = setting("TWILIO_WHATSAPP_FROM")
TWILIO_VOICE_FROM = setting("TWILIO_VOICE_FROM")
TWILIO_CONTENT_SID_ALERT = setting("TWILIO_CONTENT_SID_ALERT")
TWILIO_CONTENT_SID_ALERT_ACK = setting("TWILIO_CONTENT_SID_ALERT_ACK")
TWILIO_CONTENT_SID_CODE = setting("TWILIO_CONTENT_SID_CODE")
CARRIER_TIMEOUT_S = env.float("CARRIER_TIMEOUT_S", default=10.0)
SANDBOX_URL = setting("SANDBOX_URL")

# --- limits and money (seed 001, Limits; behaviour, Limits): all can be changed here -------------------------------
HOLDER_ALERTS_PER_HOUR = env.int("HOLDER_ALERTS_PER_HOUR", default=20)
HOLDER_CALLS_PER_HOUR = env.int("HOLDER_CALLS_PER_HOUR", default=10)
ACCOUNT_PER_MINUTE = env.int("ACCOUNT_PER_MINUTE", default=10)
ACCOUNT_PER_HOUR = env.int("ACCOUNT_PER_HOUR", default=100)
ACCOUNT_PER_DAY = env.int("ACCOUNT_PER_DAY", default=500)
NEW_ACCOUNT_ALERTS_PER_DAY = env.int("NEW_ACCOUNT_ALERTS_PER_DAY", default=30)
NEW_ACCOUNT_CALLS_PER_DAY = env.int("NEW_ACCOUNT_CALLS_PER_DAY", default=6)
NEW_ACCOUNT_DAYS = env.int("NEW_ACCOUNT_DAYS", default=7)
BRAKE_HITS = env.int("BRAKE_HITS", default=3)
BRAKE_WINDOW_S = env.int("BRAKE_WINDOW_S", default=600)
BRAKE_PAUSE_S = env.int("BRAKE_PAUSE_S", default=900)
UNBILLED_PER_HOUR = env.int("UNBILLED_PER_HOUR", default=20)
UNBILLED_PER_DAY = env.int("UNBILLED_PER_DAY", default=60)
# What the carrier may be asked for in a minute, over all accounts; 0: no cap (`rate_cap`).
CARRIER_REQUESTS_PER_MINUTE = env.int("CARRIER_REQUESTS_PER_MINUTE", default=0)
FAILED_SENDS_NOTICE_AT = env.int("FAILED_SENDS_NOTICE_AT", default=5)
CHARGE_SPAM_BLOCKS = env.bool("CHARGE_SPAM_BLOCKS", default=True)
BREAKER_FAILURES = env.int("BREAKER_FAILURES", default=5)
BREAKER_WINDOW_S = env.int("BREAKER_WINDOW_S", default=60)
CODE_TTL_S = 600
CODE_CHECKS = 5
CODES_PER_MINUTE, CODES_PER_10_MINUTES, CODES_PER_DAY = 1, 3, 10
CODES_PER_ACCOUNT_DAY = env.int("CODES_PER_ACCOUNT_DAY", default=30)
CODES_PER_IP_HOUR = env.int("CODES_PER_IP_HOUR", default=20)

# --- MCP and OAuth (seed 001, Connect and Authentication) -----------------------------------------------------------
MCP_RESOURCE = BASE_URL + "/mcp"
MCP_ALLOWED_ORIGINS = [BASE_URL, *env.list("MCP_ALLOWED_ORIGINS", default=[])]
MCP_MAX_BODY = 256 * 1024
MCP_SESSION_TTL_S = env.int("MCP_SESSION_TTL_S", default=86_400)
# Results are checked against the contract before they leave, except where it would cost real callers time.
MCP_VALIDATE_RESULTS = not PRODUCTION
OAUTH2_PROVIDER_APPLICATION_MODEL = "mcp_gateway.Application"
OAUTH_SCOPES = {
    "alerts.read": "See setup status, workflows and alerts",
    "alerts.send": "Send alerts to your verified people, and stop them",
}
ACCESS_TOKEN_S = 3600
# The toolkit counts it from the access token's expiry: 90 days in all.
REFRESH_TOKEN_S = 90 * 86400 - ACCESS_TOKEN_S
REFRESH_GRACE_S = 120
# What strangers may make us do.
REGISTRATIONS_PER_IP_HOUR = env.int("REGISTRATIONS_PER_IP_HOUR", default=60)
METADATA_FETCHES_PER_IP_HOUR = env.int("METADATA_FETCHES_PER_IP_HOUR", default=60)
METADATA_FETCHES_PER_HOUR = env.int("METADATA_FETCHES_PER_HOUR", default=1000)
OAUTH2_PROVIDER = {
    "SCOPES": OAUTH_SCOPES,
    "DEFAULT_SCOPES": list(OAUTH_SCOPES),
    "AUTHORIZATION_CODE_EXPIRE_SECONDS": 60,
    "ACCESS_TOKEN_EXPIRE_SECONDS": ACCESS_TOKEN_S,
    "REFRESH_TOKEN_EXPIRE_SECONDS": REFRESH_TOKEN_S,
    "ROTATE_REFRESH_TOKEN": True,
    "REFRESH_TOKEN_REUSE_PROTECTION": True,
    # Above 0 the toolkit answers blank tokens under hashed storage; our validator has its own grace.
    "REFRESH_TOKEN_GRACE_PERIOD_SECONDS": 0,
    "PKCE_REQUIRED": True,
    "COMPLIANT_BCP_RFC9700_IMPLICIT_GRANT": True,
    "COMPLIANT_BCP_RFC9700_PASSWORD_GRANT": True,
    "COMPLIANT_BCP_RFC9700_PKCE_METHOD": True,
    "COMPLIANT_BCP_RFC9700_ACCESS_TOKEN_TRANSPORT": True,
    "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True,
    "COMPLIANT_BCP_RFC9700_TOKEN_STORAGE": True,
    "COMPLIANT_BCP_RFC9700_REFRESH_TOKEN": True,
    "COMPLIANT_BCP_RFC9700_REDIRECT_URI_MATCHING": True,
    "COMPLIANT_BCP_RFC9700_PKCE_REQUIRED": True,
    "ALLOWED_REDIRECT_URI_SCHEMES": ["https", "http", "cursor", "vscode", "vscode-insiders"],
    "ALLOW_LOCALHOST_LOOPBACK": True,
    "REQUEST_APPROVAL_PROMPT": "force",
    "OAUTH2_VALIDATOR_CLASS": "mcp_gateway.oauth.validators.Validator",
    "RESOURCE_SERVER_TOKEN_RESOURCE_VALIDATOR": "mcp_gateway.oauth.validators.resource_exact",
    "DCR_ENABLED": True,
    "DCR_REGISTRATION_PERMISSION_CLASSES": ("oauth2_provider.dcr.AllowAllDCRPermission",),
    "CIMD_ENABLED": True,
    "CIMD_METADATA_FETCHER": "mcp_gateway.oauth.cimd.DocumentFetcher",
    "CIMD_REGISTRATION_PERMISSION_CLASSES": ("mcp_gateway.oauth.throttle.MetadataFetchPermission",),
    "OIDC_ISS_ENDPOINT": BASE_URL,
    "OAUTH2_RESPONSE_TYPES_SUPPORTED": ["code"],
    "OAUTH2_GRANT_TYPES_SUPPORTED": ["authorization_code", "refresh_token"],
    "OAUTH2_TOKEN_ENDPOINT_AUTH_METHODS_SUPPORTED": ["none", "client_secret_post", "client_secret_basic"],
    "OAUTH2_PROTECTED_RESOURCE_IDENTIFIER": MCP_RESOURCE,
    "OAUTH2_PROTECTED_RESOURCE_AUTHORIZATION_SERVERS": [BASE_URL],
    "OAUTH2_PROTECTED_RESOURCE_NAME": SERVICE_NAME,
}

# Plain http is for loopback addresses only, which our own validator sees to (seed 001, Connect).
SILENCED_SYSTEM_CHECKS = ["oauth2_provider.W008"]

# --- Celery: a nudge and a clock tick, nothing else (architecture, rule 2) ------------------------------------------
CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = False
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# A worker waits for its broker as long as it takes; the default ends it after 100 tries, most of an hour.
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_TASK_SERIALIZER = "json"
# A broker that is down may hold an accepted request up for moments only: the sweep delivers anyway.
CELERY_TASK_PUBLISH_RETRY = False
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "socket_connect_timeout": 0.5,
    "socket_timeout": 5,
    "max_retries": 0,
    "retry_on_timeout": False,
}
CELERY_BEAT_SCHEDULE = {
    "sweep": {"task": "alerts.sweep", "schedule": 1.0, "options": {"expires": 2}},
    "send-mail": {"task": "accounts.send_mail", "schedule": 5.0, "options": {"expires": 5}},
    "clear-oauth": {"task": "mcp_gateway.clear_expired", "schedule": 3600.0, "options": {"expires": 3600}},
}

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    # Without addresses and without the words of errors: both can hold somebody's data.
    "formatters": {
        "line": {
            "()": "breakpass.logs.DiscreetFormatter",
            "format": "%(asctime)s %(levelname)s %(name)s %(message)s",
        }
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": setting("LOG_LEVEL", "INFO")},
    "loggers": {
        # These write request bodies, addresses or phone numbers into their lines.
        "twilio": {"level": "CRITICAL"},
        # Two lines each second that say nothing.
        "celery.beat": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.app.trace": {"level": "WARNING"},
        "httpx": {"level": "WARNING"},
        "oauthlib": {"level": "CRITICAL"},
        "oauth2_provider": {"level": "CRITICAL"},
        "django.security.DisallowedHost": {"level": "CRITICAL"},
    },
}
