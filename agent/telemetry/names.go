// Package telemetry tells others' monitoring what cycles did: the journals as traces and
// metrics of OpenTelemetry, sent as JSON over HTTP, and the same metrics as Prometheus
// reads them.
//
// Every name that others see is in this file. Those of gen_ai are the [GenAI semantic
// conventions] as of version 1.37; what they have no name for begins with rouse.
//
// [GenAI semantic conventions]: https://opentelemetry.io/docs/specs/semconv/gen-ai/
package telemetry

import "strings"

// Metric is one, in four parts: the name, the unit, whether it counts up, and what it says.
// Counts begin anew each day.
type Metric string

// The metrics.
const (
	Up        Metric = "rouse.home.ok|1|gauge|Whether the figures of the home can be read."
	Cycles    Metric = "rouse.cycles|{cycle}|count|Cycles that ended today, by outcome and by what became of the task."
	Awake     Metric = "rouse.cycles.duration|s|count|How long the cycles that ended today were awake."
	Requests  Metric = "rouse.requests|{request}|count|Requests that models answered."
	Tokens    Metric = "rouse.tokens|{token}|count|Tokens of these; cached and written (into a cache) ones are part of input, reasoning of output."
	Money     Metric = "rouse.money|{money}|count|What these cost by prices.yaml."
	Calls     Metric = "rouse.calls|{call}|count|Calls of tools."
	Refusals  Metric = "rouse.refusals|{refusal}|count|What policy, approvals, the sandbox and Rouse itself refused."
	Newest    Metric = "rouse.cycle.ended|s|gauge|When the newest cycle ended, in seconds since 1970."
	Well      Metric = "rouse.cycle.ok|1|gauge|Whether the newest cycle ended with exit code 0."
	Lateness  Metric = "rouse.slot.lateness|s|gauge|How long after its slot the newest cycle of the schedule began."
	SlotsOver Metric = "rouse.slots|{slot}|gauge|What became of the slots of the last 24 hours."
	Next      Metric = "rouse.slot.next|s|gauge|When the next slot is, in seconds since 1970."
	Waiting   Metric = "rouse.approvals.waiting|{call}|gauge|Calls that wait for the answer of a person."
	Paused    Metric = "rouse.paused|1|gauge|Whether the home is paused."
)

// Attributes of metrics and spans.
const (
	Home    = "rouse.home"
	Cycle   = "rouse.cycle"
	Outcome = "rouse.outcome"
	Task    = "rouse.task"
	Status  = "rouse.status"
	By      = "rouse.by"

	Iteration = "rouse.iteration"
	Step      = "rouse.step"
	Effect    = "rouse.effect"
	Exit      = "rouse.exit_code"
	Kind      = "rouse.check.kind"
	Seen      = "rouse.check.seen"

	Operation = "gen_ai.operation.name" // one of the operations below
	Provider  = "gen_ai.provider.name"
	Agent     = "gen_ai.agent.name"
	Model     = "gen_ai.request.model"
	TokenType = "gen_ai.token.type"
	Input     = "gen_ai.usage.input_tokens"
	Output    = "gen_ai.usage.output_tokens"
	Cached    = "gen_ai.usage.cache_read.input_tokens"
	Finish    = "gen_ai.response.finish_reasons"
	Tool      = "gen_ai.tool.name"
	Arguments = "gen_ai.tool.call.arguments"
	Result    = "gen_ai.tool.call.result"
	Messages  = "gen_ai.output.messages"
	Error     = "error.type"

	Service = "service.name"
	Version = "service.version"
)

// Operations, with which the names of spans begin.
const (
	Invoke  = "invoke_agent"
	Chat    = "chat"
	Execute = "execute_tool"
	Check   = "check"
)

// part is one of a metric's parts.
func (m Metric) part(i int) string { return strings.Split(string(m), "|")[i] }

// prometheus is the name that OpenTelemetry's own translation gives it there.
func (m Metric) prometheus() string {
	name := strings.ReplaceAll(m.part(0), ".", "_")
	if m.part(1) == "s" {
		name += "_seconds"
	}
	if m.part(2) == "count" {
		name += "_total"
	}
	return name
}
