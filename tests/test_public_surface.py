"""What users may rely on: names, signatures of the facade, and what the light client pulls in."""

import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path

import pytest

import ricordo
from ricordo._sync.memory_pipelines import MemoryPipelines
from ricordo._sync.memory_stores import MemoryStore, MemoryStores
from ricordo._sync.session_stores import SessionStore, SessionStores
from ricordo._sync.store_entries import StoredEntry
from ricordo._sync.stored_sessions import StoredSession

ROOT = Path(__file__).parents[1]

PUBLIC = {
    "ricordo": [
        "AsyncClient",
        "AsyncMemory",
        "AsyncMemoryClient",
        "AsyncOperationHandle",
        "AsyncPager",
        "Client",
        "Memory",
        "MemoryClient",
        "MemoryRequestContext",
        "OperationHandle",
        "Pager",
        "RicordoError",
        "SourceSpec",
        "ambient_context",
        "errors",
        "filters",
        "models",
    ],
    "ricordo.filters": ["Field", "Filter", "FilterInput", "all_of", "any_of", "field", "parse"],
}
GROUPS = {
    "extraction": "approve generate list_failures list_held reject retry_failure",
    "memories": "batch_create create delete delete_matching get get_by_key list list_domains move purge put "
    "retrieve_profiles revisions rollback search update",
    "operations": "cancel get list wait",
    "sessions": "batch_record_turns clear create delete delete_turn fork get get_extraction_status get_turn ingest "
    "list list_snapshots list_turns pop_turn promote record_turn search_turns update",
    "stores": "create delete get grant list list_grants revoke update",
    "memory_pipelines": "create delete get get_run list list_runs pause resume run update",
    "memory_stores": "create delete get grant_permission list update",
    "session_stores": "create get list",
    "memory_banks": "create delete get get_operation ingest_events list memories update wait_operation",
    "memory_banks.memories": "create delete generate get list purge retrieve retrieve_profiles revisions "
    "rollback update",
    "memory_banks.memories.revisions": "get list",
    "context": "build",
    "project": "drop_embedding_model get list_audit_records list_embedding_models register_embedding_model "
    "switch_embedding_model update",
    "identity": "create_service_account delete_service_account disable_service_account enable_service_account "
    "issue_token list_service_accounts rotate_secret signing_keys update_service_account who_am_i",
    "admin": "create_organization create_project delete_project get_project_limits get_queue_status "
    "list_operator_records list_projects update_project_limits",
}
CALLS = ("acting_as", "close")
FACADE = {
    "bind": "ctx",
    "build_context": "query user_id session_id visibility metadata_filter enabled_sources * thread_id "
    "max_tokens format_style include_memories explain timeout",
    "build_context_from_sources": "query sources * user_id session_id visibility rerank thread_id max_tokens "
    "format_style include_memories explain timeout",
    "close": "",
    "delete": "memory_type memory_id * user_id purge timeout",
    "delete_episode": "memory_id * user_id purge timeout",
    "delete_procedure": "memory_id * user_id purge timeout",
    "delete_semantic": "memory_id * user_id purge timeout",
    "delete_taxonomic": "memory_id * user_id purge timeout",
    "discover_procedures": "query user_id * visibility tags top_k similarity_threshold metadata_filter mode "
    "timeout",
    "get_procedure": "procedure_name * user_id visibility include_deleted timeout",
    "get_semantic": "label user_id visibility * timeout",
    "get_taxonomic_term": "domain term user_id visibility * timeout",
    "list_domains": "visibility * timeout",
    "list_episodes": "user_id visibility session_id limit * metadata_filter timeout",
    "record_turn": "* role content session_id tool_calls tool_call_id tool_name is_error model_name "
    "metadata idempotency_key timeout",
    "record_turns": "turns * user_id session_id timeout",
    "retrieve": "memory_type query * tags top_k user_id visibility metadata_filter mode timeout",
    "save": "memory_type content * tags contextual_metadata user_id agent_id visibility timeout",
    "save_episode": "* title content user_id summary session_id participants tags visibility metadata "
    "agent_id timeout",
    "save_procedure": "* procedure description content user_id steps resources allowed_tools "
    "compatibility license trigger_conditions tags visibility agent_id "
    "extraction_source source_format source_path metadata update_existing timeout",
    "save_semantic": "* text label user_id source visibility metadata upsert agent_id timeout",
    "save_semantic_batch": "facts * user_id source visibility agent_id timeout",
    "save_taxonomic": "* domain term definition related_terms visibility user_id metadata timeout",
    "search": "query * sources top_k user_id visibility session_id domain tags "
    "similarity_threshold metadata_filter mode timeout",
    "search_episodes": "query user_id visibility session_id top_k * metadata_filter mode timeout",
    "search_semantic": "query user_id visibility top_k * metadata_filter mode timeout",
    "search_taxonomic": "query user_id domain visibility top_k * metadata_filter mode timeout",
    "update": "memory_type memory_id * content tags contextual_metadata visibility agent_id user_id timeout",
    "update_episode": "memory_id * title content summary participants tags visibility metadata agent_id "
    "user_id timeout",
    "update_procedure": "memory_id * description content steps resources allowed_tools compatibility "
    "license trigger_conditions tags visibility metadata agent_id user_id timeout",
    "update_semantic": "memory_id * text source visibility metadata agent_id user_id timeout",
    "update_taxonomic": "memory_id * definition related_terms visibility metadata agent_id user_id timeout",
    "wait_for_extraction": "session_id * user_id timeout",
    "why": "memory_id * user_id timeout",
}
LIGHT = {"annotated_types", "google", "grpc", "grpc_status", "pydantic", "pydantic_core", "ricordo"}
LIGHT |= {"typing_extensions", "typing_inspection"}


@pytest.mark.parametrize("module", PUBLIC)
def test_public_names(module: str) -> None:
    assert sorted(importlib.import_module(module).__all__) == PUBLIC[module]


def test_every_model_is_public() -> None:
    defined = {
        name
        for info in pkgutil.iter_modules(ricordo.models.__path__, "ricordo.models.")
        for name, value in vars(importlib.import_module(info.name)).items()
        if inspect.isclass(value) and value.__module__ == info.name
    }
    bases = {
        "Model",
        "Word",
        "Hit",
        "Filter",
        "AllOf",
        "AnyOf",
        "Negated",
        "Comparison",
        "Comparator",
        "Expression",
    }
    assert defined - bases <= set(ricordo.models.__all__)


@pytest.mark.parametrize("client", [ricordo.Client, ricordo.AsyncClient])
def test_public_methods_of_the_client(client: type[ricordo.Client]) -> None:
    made = client("localhost:1")
    assert {name for name in public(made) if name not in CALLS} == {
        name for name in GROUPS if "." not in name
    }
    assert {name: " ".join(public(attrgetter(name)(made))) for name in GROUPS} == GROUPS


@pytest.mark.parametrize("facade", [ricordo.Memory, ricordo.AsyncMemory])
def test_signatures_of_the_facade(facade: type) -> None:
    methods = inspect.getmembers(facade, inspect.isfunction)
    assert {name: signature(method) for name, method in methods if not name.startswith("_")} == FACADE


@pytest.mark.parametrize("facade", [ricordo.Memory, ricordo.AsyncMemory])
def test_defaults_of_the_facade(facade: type[ricordo.Memory]) -> None:
    assert defaults(facade.search_semantic) >= {("top_k", 50), ("mode", "semantic")}
    assert defaults(facade.search_episodes) >= {("top_k", 50), ("session_id", None)}
    assert defaults(facade.search_taxonomic) >= {("top_k", 50), ("domain", None)}
    assert defaults(facade.discover_procedures) >= {("top_k", 10), ("similarity_threshold", 0.0)}
    assert defaults(facade.list_episodes) >= {("limit", 20)}
    assert defaults(facade.retrieve) >= {("top_k", 10)}
    assert defaults(facade.save_episode) >= {("visibility", "private")}
    assert defaults(facade.save_taxonomic) >= {("visibility", "org")}
    assert defaults(facade.save_procedure) >= {("visibility", "private"), ("update_existing", False)}
    assert defaults(facade.save) >= {("visibility", "private")}
    assert defaults(facade.get_procedure) >= {("include_deleted", False)}
    assert defaults(facade.search) >= {("top_k", 10), ("similarity_threshold", 0.0), ("mode", "semantic")}
    assert defaults(facade.save_semantic) >= {
        ("visibility", "private"),
        ("upsert", True),
        ("source", "agent"),
    }
    assert defaults(facade.build_context) >= {("include_memories", False), ("format_style", None)}


def test_the_guide_for_users_of_agent_engine_memory_names_every_operation() -> None:
    guide = (ROOT / "docs" / "system-a.md").read_text()
    operations = {
        name for name, _ in inspect.getmembers(ricordo.Memory, inspect.isfunction) if name[0] != "_"
    }
    assert {name for name in operations if f"`{name}`" not in guide and f"`{name}(" not in guide} == set()


def test_the_guide_for_users_of_memory_banks_names_every_operation() -> None:
    guide = (ROOT / "docs" / "system-b.md").read_text()
    groups = {
        name.removeprefix("memory_banks"): each for name, each in GROUPS.items() if "memory_banks" in name
    }
    assert set(groups) == {"", ".memories", ".memories.revisions"}
    operations = {name for each in groups.values() for name in each.split()} - {"memories", "revisions"}
    assert {name for name in operations if not re.search(rf"\b{name}[`(]", guide)} == set()


def test_every_type_of_memory_banks_is_public() -> None:
    types = importlib.import_module("ricordo.memory_bank")
    defined = {
        name
        for info in pkgutil.iter_modules(types.__path__, "ricordo.memory_bank.")
        for name, value in vars(importlib.import_module(info.name)).items()
        if inspect.isclass(value) and value.__module__ == info.name
    }
    assert defined - {
        "BankModel",
        "BankWord",
        "Operation",
        "RevisionConfig",
        "GenerationConfig",
        "FilterConfig",
    } == set(types.__all__)


@pytest.mark.parametrize(
    "surface",
    [MemoryStores, MemoryStore, StoredEntry, SessionStores, SessionStore, StoredSession, MemoryPipelines],
)
def test_the_guide_for_users_of_memory_stores_names_every_operation(surface: type) -> None:
    guide = (ROOT / "docs" / "system-c.md").read_text()
    methods = inspect.getmembers(surface, inspect.isfunction)
    operations = {name for name, method in methods if method.__module__.startswith("ricordo._sync")}
    own = {name for name in operations if name[0] != "_"} - {"of"}
    assert own
    assert {name for name in own if not re.search(rf"\b{name}\b", guide)} == set()


def test_the_names_of_agent_engine_memory_are_those_of_ours() -> None:
    theirs = importlib.import_module("ricordo.agent_engine")
    assert {name for name in theirs.__all__ if not hasattr(theirs, name)} == set()
    assert theirs.Memory is ricordo.Memory


@pytest.mark.parametrize("group", GROUPS)
def test_every_public_method_ends_with_its_timeout_and_is_documented(group: str) -> None:
    for name, method in inspect.getmembers(
        attrgetter(group)(ricordo.Client("localhost:1")), inspect.ismethod
    ):
        if not name.startswith("_"):
            assert list(inspect.signature(method).parameters)[-1] == "timeout", name
            assert inspect.getdoc(method), name


def test_the_colours_have_the_same_signatures() -> None:
    for sync, aio in ((ricordo.Client, ricordo.AsyncClient), (ricordo.Memory, ricordo.AsyncMemory)):
        assert (
            set(vars(sync)) - BOOKKEEPING
            == {
                name.replace("__a", "__") if name in ("__aenter__", "__aexit__") else name
                for name in vars(aio)
            }
            - BOOKKEEPING
        )


def test_the_generated_client_is_current() -> None:
    command = [sys.executable, "scripts/unasync.py", "--check"]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_the_example_type_checks() -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "examples/typed_client.py"]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


def test_the_example_uses_public_names_only() -> None:
    source = (ROOT / "examples" / "typed_client.py").read_text()
    assert "._" not in source
    assert "ricordo.v1" not in source
    assert "Any" not in source


def test_the_wheel_alone_pulls_in_what_it_declares_and_nothing_else(light_python: Path) -> None:
    # What Python itself brings (Debian's has a sitecustomize) is not ours.
    script = (
        "import sys, json; before = set(sys.modules); import ricordo; new = set(sys.modules) - before;"
        "print(json.dumps(sorted({name.split('.')[0] for name in new})))"
    )
    printed = subprocess.run([light_python, "-I", "-c", script], capture_output=True, text=True, check=True)
    loaded = set(json.loads(printed.stdout)) - set(sys.stdlib_module_names)
    assert {name for name in loaded if not name.startswith("_") and name != "cython_runtime"} <= LIGHT
    assert "ricordo" in loaded


def test_the_command_without_the_server_says_what_to_install(light_python: Path) -> None:
    ran = subprocess.run([light_python.with_name("ricordo")], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "pip install 'ricordo[server,embedded,local]'" in ran.stderr


def test_the_command_mcp_without_its_extra_says_what_to_install(light_python: Path) -> None:
    program = light_python.with_name("ricordo")
    ran = subprocess.run([program, "mcp"], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "pip install 'ricordo[mcp]'" in ran.stderr


def test_the_extra_mcp_is_enough_for_its_command(wheel: Path, tmp_path: Path) -> None:
    program = install(f"{wheel}[mcp]", tmp_path).with_name("ricordo")
    refused = subprocess.run([program, "mcp", "--user-id", " "], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "it is blank" in refused.stderr
    listed = subprocess.run([program, "--help"], capture_output=True, text=True, check=False)
    assert "mcp" in listed.stdout.split()
    assert "ricordo[server,embedded,local]" in listed.stdout


FRAMEWORKS = {"adk": "adk", "langgraph": "langgraph", "openai-agents": "openai_agents"}


@pytest.mark.parametrize("extra", FRAMEWORKS)
def test_a_part_for_a_framework_without_its_extra_says_what_to_install(
    light_python: Path, extra: str
) -> None:
    script = f"import ricordo.{FRAMEWORKS[extra]}"
    ran = subprocess.run([light_python, "-c", script], capture_output=True, text=True, check=False)
    assert f"pip install 'ricordo[{extra}]'" in ran.stderr


@pytest.mark.parametrize("extra", FRAMEWORKS)
def test_an_extra_is_enough_for_its_framework(wheel: Path, tmp_path: Path, extra: str) -> None:
    python = install(f"{wheel}[{extra}]", tmp_path)
    run(str(python), "-c", f"import ricordo.{FRAMEWORKS[extra]}")


def test_the_extra_cli_is_enough_for_the_commands_of_a_client(wheel: Path, tmp_path: Path) -> None:
    program = install(f"{wheel}[cli]", tmp_path).with_name("ricordo")
    command = [str(program), "stores", "list", "--target", "127.0.0.1:1", "-o", "json"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, json.loads(ran.stderr)["error"]["code"]) == (1, "UNAVAILABLE")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is published."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder))
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def light_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a new environment that holds the wheel and its light dependencies."""
    return install(str(wheel), tmp_path_factory.mktemp("light"))


def install(requirement: str, folder: Path) -> Path:
    """The interpreter of a new environment that holds what is asked for, at our versions."""
    uv = str(Path(sys.executable).with_name("uv"))
    frozen = folder / "frozen.txt"
    frozen.write_text(run(uv, "pip", "freeze", "--exclude-editable", "--python", sys.executable))
    run(uv, "venv", "--python", sys.executable, str(folder / "venv"))
    python = folder / "venv" / "bin" / "python"
    run(uv, "pip", "install", "--offline", "--python", str(python), "--constraint", str(frozen), requirement)
    return python


BOOKKEEPING = {
    "__slotnames__",
    *("__module__", "__doc__", "__dict__", "__weakref__", "__qualname__", "__firstlineno__"),
    *("__annotations__", "__slotnames__"),  # made when somebody reads or copies one
}
BOOKKEEPING |= {"__static_attributes__", "__annotations__", "__parameters__", "__orig_bases__"}


def public(value: object) -> list[str]:
    return sorted(name for name in dir(value) if not name.startswith("_"))


def signature(method: Callable[..., object]) -> str:
    words: list[str] = []
    for parameter in list(inspect.signature(method).parameters.values())[1:]:
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in words:
            words.append("*")
        words.append(parameter.name)
    return " ".join(words)


def defaults(method: Callable[..., object]) -> set[tuple[str, object]]:
    parameters = inspect.signature(method).parameters.values()
    return {(one.name, one.default) for one in parameters if one.default is not one.empty}


def run(*command: str) -> str:
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout
