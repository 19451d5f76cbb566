package setup

// Check is what was found of one thing that a home needs. Its JSON is that of
// `rouse doctor`.
type Check struct {
	Check string `json:"check"`
	OK    bool   `json:"ok"`
	Found string `json:"found"`
	Hint  string `json:"hint,omitempty"`
}
