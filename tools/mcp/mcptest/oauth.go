package mcptest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
)

// OAuth is a server with a tool that tells the token it was called with, and the
// authorization server for it, which asks nobody. Tokens hold for an hour.
type OAuth struct {
	sync.Mutex
	Over, Gone bool // nothing is renewed any more; the last token holds no longer
	Given      int  // tokens so far

	challenge string
}

// ServeHTTP serves both.
func (o *OAuth) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.Lock()
	defer o.Unlock()
	type object = map[string]any
	base, query := "http://"+r.Host, r.URL.Query()
	say := func(status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(v)
	}
	switch r.URL.Path {
	case "/.well-known/oauth-protected-resource/mcp":
		say(200, object{"resource": base + "/mcp", "authorization_servers": []string{base}, "scopes_supported": []string{"read"}})
	case "/.well-known/oauth-authorization-server":
		say(200, object{"issuer": base, "authorization_endpoint": base + "/authorize", "token_endpoint": base + "/token", "registration_endpoint": base + "/register",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}})
	case "/register":
		say(201, object{"client_id": "client", "redirect_uris": []string{"x"}, "token_endpoint_auth_method": "none"})
	case "/authorize":
		o.challenge = query.Get("code_challenge")
		http.Redirect(w, r, query.Get("redirect_uri")+"?code=the-code&state="+query.Get("state"), http.StatusFound)
	case "/token":
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		proof, last := base64.RawURLEncoding.EncodeToString(sum[:]), fmt.Sprintf("refresh-%d-abcdefgh", o.Given)
		if old := r.FormValue("refresh_token"); o.Over || old == "" && proof != o.challenge || old != "" && old != last {
			say(400, object{"error": "invalid_grant"})
			return
		}
		o.Given, o.Gone = o.Given+1, false
		say(200, object{"access_token": fmt.Sprintf("token-%d-abcdefgh", o.Given), "token_type": "Bearer", "expires_in": 3600, "refresh_token": fmt.Sprintf("refresh-%d-abcdefgh", o.Given)})
	default:
		if o.Gone || r.Header.Get("Authorization") != fmt.Sprintf("Bearer token-%d-abcdefgh", o.Given) {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+base+`/.well-known/oauth-protected-resource/mcp"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		var m message
		_ = json.NewDecoder(r.Body).Decode(&m) // what is none has no result
		if result, ok := map[string]object{
			"initialize": {"protocolVersion": "2025-06-18", "serverInfo": object{"name": "o", "version": "1"}, "capabilities": object{"tools": object{}}},
			"tools/list": {"tools": []any{tool("who", "Says who you are.")}}, "tools/call": text("you are " + r.Header.Get("Authorization")),
		}[m.Method]; ok {
			say(200, object{"jsonrpc": "2.0", "id": m.ID, "result": result})
			return
		}
		w.WriteHeader(map[bool]int{true: http.StatusAccepted, false: http.StatusBadRequest}[m.ID == nil && r.Method == http.MethodPost])
	}
}
