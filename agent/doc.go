// Package agent runs cycles: wake, run, sleep. This page is the guided tour of
// Rouse; read it from the top, and then the code in the same order.
//
// # What a cycle is
//
// cron starts `rouse run`, which calls [Agent.RunOnce] once and exits. It wakes:
// it takes the home's lock, settles a cycle that was interrupted, reads
// scratchpad/active.yaml and keeps a copy of it. It runs: it asks a model for an
// action and carries it out, until the model says done, a limit is reached or
// something fails. It sleeps: it keeps a copy of the memory as it now is, stamps
// it and saves it. Sleep happens whatever the run did.
//
// # Five files to read first
//
//   - agent.go: what an agent is, and the main loop: cycle, run, live, iterate.
//   - wake.go and sleep.go: how a cycle begins and ends. What either needs of a cycle
//     is a record; what woke and what runs are more than that, see record.go and
//     cycle.go.
//   - settle.go: how one ends that was interrupted, with trace.go, which reads what
//     its journal proves.
//   - dispatcher/dispatcher.go: how one action becomes one observation.
//   - setup/setup.go: how all of it is made from a folder.
//
// # Where things are
//
// Imports run one way, from cmd/rouse down:
//
//   - cmd/rouse reads flags, prints and maps errors to exit codes.
//   - page is the home in a browser: each of its pages reads as a verb does.
//   - setup opens a home: it reads the configuration and makes of it all that is
//     below, each thing once and when it is first asked for. It also says whether a
//     due slot may run, and runs it; below it, doctor checks a home and install has
//     the machine wake it, report sums up what happened, backup packs it.
//   - home is the folder that an agent lives in; it alone knows the names of files.
//   - agent (here) is the cycle. [Keeper] wakes, settles and saves; [Agent] runs.
//   - agent/conversation decides what the model sees, agent/model asks it; dialogue.go,
//     view.go and talk.go here are between the two.
//   - agent/check tests what a task carries beside it before it counts as done: prove.go.
//     guard.go and dispatcher/checked.go keep what a person gave a check.
//   - agent/history keeps versions of the workspace, as a cycle finds and leaves it:
//     version.go. rewind.go puts them and the memory back: a cycle without a model.
//   - forget.go takes a value out of all of a home, with internal/erase.
//   - agent/source says of results where they came from, and keeps what cycles leave
//     that text from outside went into: sources.go.
//   - agent/search finds what cycles wrote and did, for people and, as the tool recall,
//     for the model.
//   - agent/made keeps copies of what cycles were made of, which their journals
//     name: rules, configuration, tools.
//   - agent/inbox is where people leave tasks, which hear.go takes in; agent/hook makes
//     tasks of what other programs send.
//   - replay.go tells a journal to the same conversation again, so that what the
//     model saw can be rebuilt; what a request depends on, the journal must have.
//   - past.go, and given.go, stand for the world in a cycle that is run again, which agent/replay
//     compares with what was recorded.
//   - agent/approval keeps the calls that wait for a person: approvals.go here asks, and
//     carries out what was approved.
//   - agent/budget, agent/notify, agent/pause, agent/retention and agent/schedule
//     are for a home that is left alone; unattended.go calls them. agent/trust tells
//     what another hand has changed since the last cycle.
//   - agent/telemetry makes of journals what others' monitoring reads: metrics and traces.
//   - journal is the record of a cycle, in which the dispatcher writes
//     too; it knows nothing of either. agent/config reads rouse.yaml.
//   - dispatcher takes one action and gives one observation. It has three
//     branches: a tool, update_scratchpad, done. dispatcher/policy says whether a call
//     is made, asked about or denied.
//   - desk is the home as an MCP server, by which other agents give it tasks.
//   - proxy gives the same to other people's agents: it stands between an
//     MCP client and its server.
//   - scratchpad/observation keeps tool outputs that are too large to be shown.
//   - tools says what a tool is, and adds task_scratchpad to each; the folders
//     below it have the tools, and the skills that tools/skill shows. Some need something running, such as the servers of
//     tools/mcp and the Python of tools/notebook: box.go opens these when a cycle
//     needs them.
//   - scratchpad is the memory: YAML that a person edits, changed without
//     disturbing what did not change.
//   - internal/sandbox confines the processes of tools; internal/egress is the proxy
//     by which they reach the hosts that are listed. What may be dialled, there and by
//     http_get, is decided by internal/netguard.
//   - internal/disk, internal/proc and internal/redact are the seams: how we
//     write files, start processes and keep secrets out. Time is a field Now
//     wherever it matters, read by internal/clock.
//
// # A crash is only an early sleep
//
// The memory changes only by a [scratchpad.Change], and each is in the journal
// before the next thing happens. So the state that a cycle had reached is its
// _before with the journal's changes applied, and a wake that finds a journal
// without the event sleep can do what the dead cycle could not: end the
// processes that it left, rebuild the state, write _after, save, and say in the
// notes which call has an unknown outcome. That call is never repeated. Settling
// and sleeping share one function, finish, whose steps can each be done again;
// so it does not matter where it is killed, or how often.
//
// # One slot, followed
//
// Every minute cron starts `rouse run --due`: cmd/rouse/run.go opens the home by
// setup.Open and calls RunDue (setup/due.go). schedule.Ledger.Due accounts for all
// slots up to now (agent/schedule/account.go: missed, skipped, caught up) and takes
// at most one. What may keep it from running is asked by Gate, before the ledger is
// locked for writing: the file STOP, a rest after failures, nothing new, no money
// left; the last is decided by the function that the cycle then reserves with,
// budget.Model. The taken slot is in the ledger with this process as its owner
// before [Agent.RunOnce] begins; what became of it is written by Attempt.Settle, and
// if the process dies, the next one finds the owner gone and says unknown. Nothing is
// run twice for one slot.
//
// # One large output, followed
//
// A shell call prints 1 GB. proc.Runner streams it; dispatcher.Shelf.Observe puts
// the redactor in its way and, from the threshold on, an observation.Writer behind
// that (dispatcher/output.go, park.go), which cuts it into chunks after newlines and
// compresses them on the way to the disk; memory holds a few of these. The model is
// shown a synthetic view: head, tail, size, what kind it is, a scratchpad_id. It reads
// on with scratchpad_read (dispatcher/read.go), by lines, ranges, grep or jq, of
// which an index finds the one chunk; or it passes the bytes to another tool by
// writing {{step1.content}}, which dispatcher/reference.go replaces with a reader, so
// that they never are in memory or in a request.
//
// # What leaves the memory
//
// A memory that only grew would cost more each day. So finish calls Keeper.tidy, in
// tidy.go, before _after is written: the oldest finished tasks go to an archive, and of
// the notes the calls of earlier cycles become a line each (fold, in notes.go). The
// event tidied has it all before anything is taken out, and what left is written where
// it goes once the memory is saved without it; who settles a cycle that was killed in
// between writes what is missing there.
//
// # Who may change the memory
//
// The cycle holds a lock on the memory's folder. A person does not, and may edit
// active.yaml whenever they like. At wake the file's hash is kept; if it differs
// at sleep, the two sides are merged key by key, and where both changed one key
// the person's edit stays and the cycle's result is kept as _after.
//
// # Where secrets stop
//
// Text is cleaned where it enters: what tools give back in the dispatcher, what
// models answer in agent/model, what is sent in agent/conversation, and what
// errors and warnings quote in the journal's writer. Behind these doors the
// memory, the journal, the log and the screen hold the same clean text. What is
// cut is redacted before: nobody knows the part of a secret that a cut leaves.
//
// # How to test
//
// A rig is a home in a temporary folder with a scripted model: rig_test.go here, and
// cmd/rouse/rig_test.go with a real server on loopback. What must survive anything is
// swept: disktest.Sweep lets the nth operation of our disk fail or lose what was not
// synced, until a run meets no fault; killtest kills the real program at its nth system
// call. A sample runs in `go test`, more with ROUSE_SWEEP=wide as in .ci/run, all of
// it with ROUSE_SWEEP=full: internal/sweep. What a user sees is
// a script in cmd/rouse/testdata/script, which carries its model's replies. Time is set,
// never waited for. The examples of [tools.New], [scratchpad.Load],
// [dispatcher.Dispatcher.Do] and observation.Store show each in its smallest use.
package agent
