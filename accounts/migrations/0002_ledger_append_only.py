"""Refuse every change to a ledger entry in the database itself: money is only ever added to (architecture, rule 5)."""

from django.db import migrations

REFUSE = """
CREATE FUNCTION accounts_ledger_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'ledger entries are never changed or removed' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER ledger_is_append_only BEFORE UPDATE OR DELETE ON accounts_ledgerentry
    FOR EACH ROW EXECUTE FUNCTION accounts_ledger_is_append_only();
"""
ALLOW = """
DROP TRIGGER ledger_is_append_only ON accounts_ledgerentry;
DROP FUNCTION accounts_ledger_is_append_only();
"""


class Migration(migrations.Migration):
    """The trigger that keeps the ledger append-only."""

    dependencies = [("accounts", "0001_initial")]
    operations = [migrations.RunSQL(REFUSE, ALLOW)]
