"""The facade: the memory of one project for agents, in the words of agent-engine memory."""

from ricordo._async.facade.custom import AsyncCustomMemory
from ricordo._async.facade.episodic import AsyncEpisodicMemory
from ricordo._async.facade.learning import AsyncLearning
from ricordo._async.facade.procedural import AsyncProceduralMemory
from ricordo._async.facade.retrieval import AsyncRetrieval
from ricordo._async.facade.semantic import AsyncSemanticMemory
from ricordo._async.facade.taxonomic import AsyncTaxonomicMemory
from ricordo._async.facade.turns import AsyncTurnMemory


class AsyncMemory(
    AsyncTurnMemory,
    AsyncSemanticMemory,
    AsyncEpisodicMemory,
    AsyncTaxonomicMemory,
    AsyncProceduralMemory,
    AsyncCustomMemory,
    AsyncRetrieval,
    AsyncLearning,
):
    """The memory of a project.

    Turns are written by `record_turn` and `record_turns`, and read by `build_context` with the source `stm`. For the
    rest:

    | kind | write | read |
    |---|---|---|
    | facts | `save_semantic`, `save_semantic_batch` | `search_semantic`, `get_semantic` |
    | episodes | `save_episode` | `search_episodes`, `list_episodes` |
    | terms | `save_taxonomic` | `search_taxonomic`, `get_taxonomic_term`, `list_domains` |
    | procedures | `save_procedure` | `discover_procedures`, `get_procedure` |
    | your own types | `save` | `retrieve` |

    Each kind has an `update_...` and a `delete_...` too (your own types: `update` and `delete`).
    `search`, `build_context` and `build_context_from_sources` read several kinds at once; `why` tells where a memory
    comes from. Turns become memories in the background; `wait_for_extraction` waits for that.

    Who a call is for is taken, field by field, from the call, else from `bind`, else from `ambient_context`. None and
    blank values are unset. Reads combine what is given: a user reads all that is that user's; a visibility reads all
    of that visibility; both, what is both; neither, everything the credential may read. The one union is
    `visibility="readable"`: the user's own and all that is shared. What is changed or deleted must be the user's own.

    Failures are `MemoryAPIError`s. `timeout` is in seconds, retries included; None: 30.
    """
