package model_test

import (
	"strings"
	"testing"

	"rouse/agent/model"
	"rouse/agent/model/modeltest"
	"rouse/internal/redact"
)

// The body of an error is read up to 64 KiB: a secret that is cut there leaves no
// part, however little of the body is worth to be told.
func TestSecretWhereAnErrorIsCut(t *testing.T) {
	const secret = "canary-0123456789-abcdefgh"
	body := "bad" + strings.Repeat(" ", 64<<10-3-15) + secret
	hide := redact.New(map[string]string{"SHOP_TOKEN": secret})
	_, err := newClient(t, modeltest.New(modeltest.Reply{Status: 400, Body: body}), model.Options{Redact: hide.String}).Reply(t.Context(), question)
	if err == nil || strings.Contains(err.Error(), secret[:6]) || !strings.Contains(err.Error(), "bad") {
		t.Error(err)
	}
}
