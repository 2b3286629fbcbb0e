"""Service accounts with their secrets, and the keys that sign tokens."""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

# A secret is a row of its own: while one is rotated, two are good. Only their hashes are kept.
TABLES = """
CREATE TABLE ricordo.service_account (
  project_id uuid NOT NULL REFERENCES ricordo.project ON DELETE CASCADE,
  account_id uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  role text NOT NULL CHECK (role IN ('reader', 'writer', 'admin')),
  is_disabled boolean NOT NULL DEFAULT false,
  creator_id text NOT NULL,
  create_time timestamptz NOT NULL DEFAULT now(),
  update_time timestamptz NOT NULL DEFAULT now(),
  last_use_time timestamptz,
  PRIMARY KEY (project_id, account_id),
  UNIQUE (project_id, name)
);

CREATE TABLE ricordo.service_account_secret (
  project_id uuid NOT NULL,
  account_id uuid NOT NULL,
  secret_id text COLLATE "C" NOT NULL,
  secret_hash text NOT NULL,
  create_time timestamptz NOT NULL DEFAULT now(),
  expire_time timestamptz,
  PRIMARY KEY (project_id, account_id, secret_id),
  FOREIGN KEY (project_id, account_id) REFERENCES ricordo.service_account ON DELETE CASCADE
);

CREATE TABLE ricordo.signing_key (
  key_id text COLLATE "C" PRIMARY KEY,
  sealed bytea NOT NULL,
  sign_time timestamptz NOT NULL,
  retire_time timestamptz
);
"""

# Accounts are for services only: an end user neither sees nor changes them. The operator makes a project's first one,
# and reads none of the hashes. The server reads the signing keys, which are sealed, and can add none.
PROTECTION = """
SELECT ricordo.protect_project_table(name, any_user, any_user)
FROM unnest(ARRAY['service_account', 'service_account_secret']) AS name,
  (VALUES ($$current_setting('ricordo.any_user')::boolean$$)) AS clause (any_user);

CREATE POLICY operator_insert ON ricordo.service_account FOR INSERT TO ricordo_operator WITH CHECK (true);
CREATE POLICY operator_insert ON ricordo.service_account_secret FOR INSERT TO ricordo_operator WITH CHECK (true);
GRANT INSERT ON ricordo.service_account, ricordo.service_account_secret TO ricordo_operator;

GRANT SELECT ON ricordo.signing_key TO ricordo_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON ricordo.signing_key TO ricordo_operator;
"""


def upgrade() -> None:
    op.execute(TABLES)
    op.execute(PROTECTION)
