// Package mcp gives an agent the tools of MCP servers, those that a home's
// .mcp.json names: https://modelcontextprotocol.io.
//
// [Load] reads that file, [Start] starts its servers side by side, and
// [Servers.Tools] are their tools. A server is a stranger's program. It gets no
// more environment than it was granted, it can ask nothing of us, what it says
// is bounded in size and time, and its tools are the ones that were there when
// it was first seen or accepted, word for word: see [Servers.Accept]. One that
// dies, hangs, floods or lies costs its own call and nothing else.
//
// A call whose answer does not come may have taken effect. Its result says so
// ("outcome unknown", and metadata outcome: unknown), and it is never repeated
// here.
package mcp
