"""Function tools of the OpenAI Agents SDK, called by a scripted model."""

from agents import Agent, FunctionTool, RunConfig, Runner
from agents.testing import ScriptedModel, assistant_message, function_call

from ricordo._async.memory_stores import AsyncMemoryStore
from ricordo._sync.memory_stores import MemoryStore
from ricordo.openai_agents import as_tools
from ricordo.tools import async_entry_tools, async_memory_tools, memory_tools

QUIET = RunConfig(tracing_disabled=True)


async def test_a_model_remembers_and_recalls(async_store: AsyncMemoryStore) -> None:
    model = ScriptedModel(
        [
            [function_call("remember", {"fact": "Ada drinks tea.", "topic": "diet"}, call_id="c1")],
            [function_call("recall", {"query": "tea", "session_id": None}, call_id="c2")],
            [assistant_message("You drink tea.")],
        ]
    )
    agent = Agent(name="assistant", model=model, tools=as_tools(async_memory_tools(async_store, "ada")))
    result = await Runner.run(agent, "What do I drink?", run_config=QUIET)
    assert result.final_output == "You drink tea."
    remembered, recalled = [item.output for item in result.new_items if item.type == "tool_call_output_item"]
    assert remembered == "Remembered under /diet.md."
    assert recalled[0]["content"] == "Ada drinks tea."


async def test_functions_that_block_are_tools_too(store: MemoryStore) -> None:
    call = function_call("remember", {"fact": "Ada drinks tea.", "topic": "diet"}, call_id="c1")
    model = ScriptedModel([[call], [assistant_message("Noted.")]])
    agent = Agent(name="assistant", model=model, tools=as_tools(memory_tools(store, "ada")))
    await Runner.run(agent, "I drink tea.", run_config=QUIET)
    assert [entry.content for entry in store.list(actor_id="ada")] == ["Ada drinks tea."]


async def test_a_failure_is_told_to_the_model(async_store: AsyncMemoryStore) -> None:
    call = function_call("save_memory", {"path": "no/slash", "content": "x", "description": ""}, call_id="c1")
    model = ScriptedModel([[call], [assistant_message("I cannot.")]])
    agent = Agent(name="assistant", model=model, tools=as_tools(async_entry_tools(async_store, "ada")))
    result = await Runner.run(agent, "Save it.", run_config=QUIET)
    [told] = [item.output for item in result.new_items if item.type == "tool_call_output_item"]
    assert "INVALID_FIELD" in told


def test_a_model_reads_each_argument_and_never_whose_memories(store: MemoryStore) -> None:
    remember, *_ = as_tools(memory_tools(store, "ada"))
    assert isinstance(remember, FunctionTool)
    assert remember.description == "Remember one fact for later conversations."
    properties = remember.params_json_schema["properties"]
    assert list(properties) == ["fact", "topic"]
    assert properties["topic"]["description"].startswith("A short name")
