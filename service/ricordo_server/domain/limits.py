"""Every limit of the contract, each with its reason."""

KIB = 1024

# A batch of 500 turns of usual size fits; a request that is larger is a mistake or an attack.
MAX_REQUEST_BYTES = 8 * 1024 * KIB
# Every default gRPC client refuses an answer over 4 MiB; a page or a search ends a mebibyte before.
MAX_ANSWER_BYTES = 3 * 1024 * KIB
MAX_CLIENT_BYTES = 4 * 1024 * KIB
# One memory or turn as it is encoded: it must fit an answer, and three of them a page, whatever its parts add up to.
MAX_ITEM_BYTES = 1024 * KIB

# A long tool output or a document; beyond, a tsvector may pass PostgreSQL's own cap of 1 MiB.
MAX_CONTENT_BYTES = 256 * KIB
MAX_TITLE_BYTES = 1 * KIB
MAX_DESCRIPTION_BYTES = 8 * KIB
# A B-tree entry holds at most 2,704 bytes, and a taxonomic key is made of two of these and their escapes.
MAX_NAME_BYTES = 512
MAX_MADE_KEY_BYTES = 2 * KIB
MAX_ROLE_BYTES = 64

MAX_METADATA_BYTES = 64 * KIB
MAX_METADATA_KEYS = 64
# Recursion is bounded everywhere data may nest.
MAX_METADATA_DEPTH = 8

MAX_SCOPE_PAIRS = 5
MAX_TOPICS = 64
MAX_TAGS = 64
MAX_LIST_ITEMS = 256
MAX_PROVENANCE_TURNS = 500
MAX_TOOL_CALLS = 128
MAX_REQUEST_ID_CHARACTERS = 128

MAX_BATCH_ITEMS = 500
MAX_QUERY_BYTES = 8 * KIB
# The most that an HNSW index over halfvec takes.
MAX_QUERY_DIMENSIONS = 4_000

MAX_FILTER_COMPARISONS = 64
MAX_FILTER_DEPTH = 8
MAX_IN_VALUES = 100
# Regular expressions can be slow to run; they also stand under the statement timeout.
MAX_PATTERN_CHARACTERS = 256

DEFAULT_TOP_K = 10
MAX_TOP_K = 200
DEFAULT_PAGE_SIZE = 50
MAX_PAGE_SIZE = 1_000
MAX_ORDER_KEYS = 4

DEFAULT_CONTEXT_TOP_K = 20
DEFAULT_CONTEXT_TOKENS = 4_000
# A budget beyond would not fit an answer of 4 MiB, at up to 16 characters a token.
MAX_CONTEXT_TOKENS = 200_000
# Text has 2 to 5 characters per token; what holds more than this is no text (a run of one character).
MOST_CHARACTERS_PER_TOKEN = 16
MAX_CONTEXT_CHARACTERS = MAX_CONTEXT_TOKENS * MOST_CHARACTERS_PER_TOKEN
# Read with the settings in every transaction; the longest prompt templates in use are about half of it.
MAX_TEMPLATE_BYTES = 8 * KIB
# Kept for what the caller puts around the context.
CONTEXT_RESERVE_TOKENS = 500

MAX_DECLARED_KEYS = 64
MAX_CUSTOM_TYPES = 64
# The settings are read in every transaction, so all they declare must stay a few KiB.
MAX_DECLARED_NAMES = 256

# A token travels with every call, in metadata that gRPC bounds at 8 KiB.
MAX_TOKEN_USERS = 16
MAX_TOKEN_USERS_BYTES = 2 * KIB

# An operator looks for the projects that are behind; the others are asked for by their id.
MAX_QUEUE_PROJECTS = 100

# A policy stands in the settings, so it is read in every transaction of its project.
MAX_PROMPT_CHARACTERS = 4_096
MAX_POLICY_TOPICS = 32
MAX_EXAMPLES = 8
MAX_EXAMPLE_BYTES = 2 * KIB
MAX_EXAMPLE_CONTENTS = 16
MAX_SCOPED_POLICIES = 16
# Schemas are read in every transaction, too; and all profiles of a scope fit one answer.
MAX_PROFILE_SCHEMAS = 8
MAX_SCHEMA_BYTES = 16 * KIB
MAX_SCHEMA_DEPTH = 5
MAX_PROFILE_FIELDS = 64
MAX_PROFILE_VALUE_BYTES = 4 * KIB
# Beyond it a time to live may end after the last year there is.
MAX_TTL_DAYS = 10_000
