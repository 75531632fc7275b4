"""Talks to `sextant mcp` with the official client of the Model Context Protocol and checks what it hears.

Usage: client.py PROGRAM TREE. The environment is handed on to the program. Ends with code 1 at the first surprise.
"""

import asyncio
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


def field(value, *names):
    """The first attribute there is: the client's versions spell them differently."""
    for name in names:
        if hasattr(value, name):
            return getattr(value, name)
    raise AttributeError(names)


def text(result):
    return "".join(part.text for part in result.content if part.type == "text")


async def refused(session, arguments, *parts):
    result = await session.call_tool("search", arguments)
    assert field(result, "is_error", "isError"), (arguments, result)
    for part in parts:
        assert part in text(result), (part, text(result))


async def main(program, tree):
    server = StdioServerParameters(command=program, args=["mcp"], env=dict(os.environ), cwd=tree)
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        started = await session.initialize()
        assert field(started, "server_info", "serverInfo").name == "sextant", started

        tools = (await session.list_tools()).tools
        assert [tool.name for tool in tools] == ["search"], tools
        schema = field(tools[0], "input_schema", "inputSchema")
        assert sorted(schema["properties"]) == ["limit", "path", "query"], schema
        assert schema["required"] == ["query"], schema

        result = await session.call_tool("search", {"query": "alpaca wool", "limit": 1})
        assert not field(result, "is_error", "isError"), result
        assert f"{tree}/src/alpaca.py:1-2" in text(result), text(result)
        assert "return 'wool'" in text(result), text(result)
        hits = field(result, "structured_content", "structuredContent")["hits"]
        assert len(hits) == 1, hits
        assert (hits[0]["path"], hits[0]["start_line"], hits[0]["end_line"]) == ("src/alpaca.py", 1, 2), hits
        assert hits[0]["snippet"].startswith("def alpaca"), hits

        # A folder below, from the server's current folder, is searched alone.
        result = await session.call_tool("search", {"query": "alpaca", "path": "docs"})
        hits = field(result, "structured_content", "structuredContent")["hits"]
        assert [hit["path"] for hit in hits] == ["docs/bison.py"], hits

        await refused(session, {"query": "q", "limits": 3}, "`limits`", "`limit`", "search(query, path?, limit?)")
        await refused(session, {"question": "q"}, "`question`", "search(query, path?, limit?)")
        await refused(session, {"query": "q", "limit": 0}, "1 to 100")
        await refused(session, {}, "`query` is missing")
        await refused(session, {"query": " "}, "the question is empty")
        await refused(session, {"query": "q", "path": "nowhere"}, "nowhere", "check the spelling")
        await refused(session, {"query": "q", "path": "/"}, "name a folder in it")

        # What was refused has ended nothing.
        result = await session.call_tool("search", {"query": "bison"})
        assert "docs/bison.py" in text(result), text(result)
    print("all is well")


asyncio.run(main(*sys.argv[1:]))
