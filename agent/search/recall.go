package search

// ToolName is the name of the tool by which the model finds what left its memory.
const ToolName = "recall"
