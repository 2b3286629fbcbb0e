"""Which embedding models a project uses: one that reads use, and one beside it while models are exchanged."""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

# How to reach a model's embedder (a secret only as a reference); none for those that are known from before. One model
# is the default of new projects.
MODELS = """
ALTER TABLE ricordo.embedding_model
  ADD COLUMN settings jsonb NOT NULL DEFAULT '{}',
  ADD COLUMN is_default boolean NOT NULL DEFAULT false;
CREATE UNIQUE INDEX embedding_model_default ON ricordo.embedding_model (is_default) WHERE is_default;
UPDATE ricordo.embedding_model SET is_default = true
WHERE model_id = (SELECT max(model_id) FROM ricordo.embedding_model);

CREATE FUNCTION ricordo.default_model_id() RETURNS integer
LANGUAGE sql STABLE
RETURN (SELECT model_id FROM ricordo.embedding_model WHERE is_default);
"""

# A project keeps the model it was made with, whatever the default becomes: its vectors are that model's. Null only
# before the installation has any model. The column is added without a default first: a volatile one would rewrite.
PROJECTS = """
ALTER TABLE ricordo.project
  ADD COLUMN active_model_id integer REFERENCES ricordo.embedding_model,
  ADD COLUMN standby_model_id integer REFERENCES ricordo.embedding_model,
  ADD CHECK (standby_model_id <> active_model_id);
ALTER TABLE ricordo.project ALTER COLUMN active_model_id SET DEFAULT ricordo.default_model_id();
UPDATE ricordo.project SET active_model_id = ricordo.default_model_id();
GRANT UPDATE (active_model_id, standby_model_id) ON ricordo.project TO ricordo_app;
"""

# A row without a vector marks a text that the model refuses, so that nobody asks again until the text changes.
MARKS = """
ALTER TABLE ricordo.memory_embedding ALTER COLUMN embedding DROP NOT NULL;
ALTER TABLE ricordo.turn_embedding ALTER COLUMN embedding DROP NOT NULL;
"""


def upgrade() -> None:
    for statement in (MODELS, PROJECTS, MARKS):
        op.execute(statement)
