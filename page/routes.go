package page

// part is a page of a home that each of its pages leads to.
type part struct{ Name, Path string }

// nav are those parts, in their order.
func nav() []part {
	return []part{
		{"Home", ""},
		{"Cycles", "cycles"},
		{"Cost", "cost"},
		{"Approvals", "approvals"},
		{"Observations", "observations"},
		{"Notebooks", "notebooks"},
		{"Search", "search"},
		{"Policy and sandbox", "policy"},
		{"Who did what", "acts"},
	}
}

// looks are the pages that only show, by the pattern of their path.
func looks() map[string]func(*visit) (sheet, error) {
	return map[string]func(*visit) (sheet, error){
		"/{$}":                                             (*visit).listHomes,
		"/cost":                                            (*visit).costs,
		"/h/{home}/cost":                                   (*visit).showCost,
		"/h/{home}":                                        (*visit).showHome,
		"/h/{home}/observations":                           (*visit).listObservations,
		"/h/{home}/observations/{id}":                      (*visit).showObservation,
		"/h/{home}/observations/{id}/picture":              (*visit).showPicture,
		"/h/{home}/observations/{id}/file":                 (*visit).download,
		"/h/{home}/approvals":                              (*visit).showApprovals,
		"/h/{home}/acts":                                   (*visit).showActs,
		"/h/{home}/cycles":                                 (*visit).listCycles,
		"/h/{home}/cycles/{cycle}":                         (*visit).showCycle,
		"/h/{home}/cycles/{cycle}/diff":                    (*visit).showDiff,
		"/h/{home}/cycles/{cycle}/events":                  (*visit).follow,
		"/h/{home}/cycles/{cycle}/steps/{step}":            (*visit).showStep,
		"/h/{home}/cycles/{cycle}/requests/{request}":      (*visit).showRequest,
		"/h/{home}/cycles/{cycle}/requests/{request}/body": (*visit).sendBody,

		"/h/{home}/notebooks":                           (*visit).listNotebooks,
		"/h/{home}/notebooks/{name}":                    (*visit).showNotebook,
		"/h/{home}/notebooks/{name}/{cell}/picture/{n}": (*visit).showCellPicture,
		"/h/{home}/notebooks/{name}/{cell}/table":       (*visit).showTable,

		"/h/{home}/search": (*visit).search,
		"/h/{home}/policy": (*visit).showPolicy,

		"/h/{home}/edit": (*visit).showEdit,
	}
}

// lives are what keeps pages up to date, for as long as somebody looks.
func lives() map[string]func(*visit) (sheet, error) {
	return map[string]func(*visit) (sheet, error){
		"/live": (*visit).followHomes,
	}
}

// acts are the buttons.
func acts() map[string]func(*visit) (sheet, error) {
	return map[string]func(*visit) (sheet, error){
		"/h/{home}/tell":           (*visit).tell,
		"/h/{home}/run":            (*visit).run,
		"/h/{home}/pause":          (*visit).pause,
		"/h/{home}/resume":         (*visit).resume,
		"/h/{home}/approvals/{id}": (*visit).reply,

		"/h/{home}/notebooks": (*visit).runCell,
		"/h/{home}/policy":    (*visit).allow,

		"/h/{home}/edit":   (*visit).edit,
		"/h/{home}/rewind": (*visit).rewind,
	}
}
