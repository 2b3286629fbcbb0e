"""LangChain's tools, called from a graph by a scripted model."""

from typing import Any

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.graph import MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from ricordo._async.memory_stores import AsyncMemoryStore
from ricordo._sync.memory_stores import MemoryStore
from ricordo.langgraph import as_tools
from ricordo.tools import async_memory_tools, entry_tools, memory_tools

ASKED = {"messages": [("user", "What do I drink?")]}


def graph(tools: ToolNode, *script: AIMessage) -> CompiledStateGraph[Any, Any, Any, Any]:
    """A model in turn with its tools."""
    model = GenericFakeChatModel(messages=iter(script))
    states = StateGraph(MessagesState)
    states.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    states.add_node("tools", tools)
    states.set_entry_point("model")
    states.add_conditional_edges("model", tools_condition)
    states.add_edge("tools", "model")
    return states.compile()


def call(name: str, **arguments: object) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{name}"}])


def told(messages: list[object]) -> list[object]:
    return [each.content for each in messages if isinstance(each, ToolMessage)]


def test_a_model_remembers_and_recalls(store: MemoryStore) -> None:
    tools = ToolNode(as_tools(memory_tools(store, "ada")))
    script = (
        call("remember", fact="Ada drinks tea.", topic="diet"),
        call("recall", query="tea"),
        AIMessage("Tea."),
    )
    messages = graph(tools, *script).invoke(ASKED)["messages"]
    remembered, recalled = told(messages)
    assert remembered == "Remembered under /diet.md."
    assert "Ada drinks tea." in str(recalled)
    assert messages[-1].content == "Tea."


async def test_coroutines_are_tools_too(async_store: AsyncMemoryStore) -> None:
    tools = ToolNode(as_tools(async_memory_tools(async_store, "ada")))
    script = (call("remember", fact="Ada drinks tea."), AIMessage("Noted."))
    await graph(tools, *script).ainvoke(ASKED)
    assert [entry.path async for entry in async_store.list(actor_id="ada")] == ["/general.md"]


def test_a_failure_is_told_to_the_model(store: MemoryStore) -> None:
    tools = ToolNode(as_tools(entry_tools(store, "ada")))
    script = (call("save_memory", path="no/slash", content="x"), AIMessage("I cannot."))
    [answer] = told(graph(tools, *script).invoke(ASKED)["messages"])
    assert "INVALID_FIELD" in str(answer)


def test_a_model_reads_each_argument_and_never_whose_memories(store: MemoryStore) -> None:
    remember, *_ = as_tools(memory_tools(store, "ada"))
    assert remember.description == "Remember one fact for later conversations."
    assert list(remember.args) == ["fact", "topic"]
    assert remember.args["topic"]["description"].startswith("A short name")
