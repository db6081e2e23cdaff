"""The schema in the migrations is the schema of the models, and the ledger's own guard is in it."""

import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction

pytestmark = pytest.mark.django_db


def test_no_model_change_lacks_its_migration() -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


CHANGES = ["UPDATE accounts_ledgerentry SET note = 'x'", "DELETE FROM accounts_ledgerentry"]


@pytest.mark.parametrize("statement", CHANGES)
def test_the_database_refuses_to_change_the_ledger(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO accounts_account (status, status_reason, is_paused_until_verified, owner_name, residence,"
            " has_new_account_caps_lifted, is_agent_guidance_configured, balance_cents, reserved_cents,"
            " workflows_version, workflows_updated_at, is_matrix_enabled, urgency_threshold, importance_threshold,"
            " timezone, created_at)"
            " VALUES ('active','',false,'','',false,false,5,0,1,now(),false,6,6,'UTC',now()) RETURNING id"
        )
        (account_id,) = cursor.fetchone()
        cursor.execute(
            "INSERT INTO accounts_ledgerentry (account_id, kind, balance_delta_cents, reserved_delta_cents, ref, note,"
            " created_at) VALUES (%s, 'top_up', 5, 0, 'payment:1', '', now())",
            [account_id],
        )
        with pytest.raises(DatabaseError, match="never changed or removed"), transaction.atomic():
            cursor.execute(statement)
        cursor.execute("SELECT note, balance_delta_cents FROM accounts_ledgerentry WHERE account_id = %s", [account_id])
        assert cursor.fetchall() == [("", 5)]
