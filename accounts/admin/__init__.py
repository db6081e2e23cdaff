"""The staff admin of accounts, one module per concern."""

from django.contrib import admin

from accounts.admin import money as money
from accounts.admin import people as people
from accounts.admin import standing as standing

admin.site.site_header = admin.site.site_title = "Staff"
