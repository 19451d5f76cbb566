package command

import (
	"bytes"
	"testing"

	"rouse/internal/proc"
	"rouse/internal/redact"
	"rouse/tools"
)

// An output that ends within a secret, at the limit or where its program was
// killed, has no part of it.
func TestSecretAtTheEnd(t *testing.T) {
	const secret = "canary-0123456789-abcdefgh"
	for _, script := range []string{"printf xxx; printf " + secret + "; sleep 1000", "printf xxx; printf " + secret[:12] + "; kill -9 $$"} {
		var out bytes.Buffer
		w := redact.New(map[string]string{"SHOP_TOKEN": secret}).Writer(&out)
		e := exec(t)
		e.MaxOutput = 20
		r := e.Run(t.Context(), tools.Call{Output: w}, proc.Command{Argv: []string{"sh", "-c", script}})
		w.Close()
		if r.OK || out.String() != "xxx" {
			t.Errorf("%s: %q, %+v", script, out.String(), r)
		}
	}
}
