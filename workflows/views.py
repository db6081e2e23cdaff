"""The workflows an agent can start, to read."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.access import owner_page
from accounts.models import Account
from workflows import saved, wording
from workflows.defaults import Definition


@owner_page
@require_safe
def workflow_list(request: HttpRequest, account: Account) -> HttpResponse:
    """Each workflow's steps and rules, as saved."""
    shown = [workflow_shown(definition) for definition in saved.definitions(account)]
    return render(request, "workflows/list.html", {"section": "workflows", "account": account, "workflows": shown})


def workflow_shown(definition: Definition) -> dict[str, Any]:
    """A workflow with its words."""
    return {
        "definition": definition,
        "summary": wording.summary(definition),
        "use_when": wording.use_when(definition),
    }
