// Command hello is the least that a Go program can be: the base line for the
// start of `rouse version`.
package main

import "os"

func main() { os.Stdout.WriteString("hello\n") }
