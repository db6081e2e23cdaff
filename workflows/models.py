"""The owner's saved workflows and every version they ever had. No row means the default, version 1."""

from django.db import models
from django.db.models import Q

from accounts.models import Account


class Workflow(models.Model):
    """One saved workflow of an account, as it is now. Alerts snapshot it; edits affect new alerts only."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="workflows")
    key = models.CharField(max_length=40)
    name = models.CharField(max_length=40)
    version = models.PositiveIntegerField()
    # [{"offset_min": 0, "kind": "message"}, …]: workflows.plan.Step as JSON, 1 to 10 steps in order.
    steps = models.JSONField()
    requires_ack = models.BooleanField()
    has_sms_fallback = models.BooleanField(default=True)
    max_attempts = models.PositiveSmallIntegerField()
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "key"], name="workflow_once_per_key"),
            models.CheckConstraint(condition=Q(key__in=["inform", "acknowledge", "escalate"]), name="workflow_key"),
            models.CheckConstraint(condition=Q(max_attempts__range=(1, 12)), name="workflow_attempts_1_to_12"),
        ]

    def __str__(self) -> str:
        return f"workflow {self.key} of account {self.account_id}"


class WorkflowVersion(models.Model):
    """What a workflow said at one version: kept for the history an owner can look up."""

    workflow = models.ForeignKey(Workflow, on_delete=models.CASCADE, related_name="versions")
    version = models.PositiveIntegerField()
    content = models.JSONField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workflow", "version"], name="workflow_version_once")]

    def __str__(self) -> str:
        return f"workflow {self.workflow_id} version {self.version}"
