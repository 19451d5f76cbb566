// Package rouse holds the files of a new home. They are those of the
// repository's own home, which is its root, and of the homes in examples.
package rouse

import "embed"

// Template has the files that `rouse init` writes, by their place in the home.
//
//go:embed rules.md rouse.yaml rouse.schema.json prices.yaml scratchpad/initial.yaml bin/run.sh bin/reset.sh bin/find.sh
var Template embed.FS

// Examples has a folder of files for each home that `rouse init --from` makes.
//
//go:embed examples/*/README.md examples/*/rules.md examples/*/rouse.yaml examples/*/.mcp.json examples/*/scratchpad/initial.yaml examples/*/bin
var Examples embed.FS
