package flow

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"

	"rouse/internal/loopback"
)

// Temporal is a connection to where the workflows of a fleet run.
type Temporal struct {
	client    client.Client
	namespace string
	fleet     string
	safe      bool // it is TLS
	Address   string
}

// Open prepares a connection, which need not be possible yet. What address and namespace leave
// empty, and certificates and keys, are Temporal's own environment: TEMPORAL_ADDRESS,
// TEMPORAL_TLS_CLIENT_CERT_PATH, TEMPORAL_API_KEY and so on. Off loopback it is always TLS. Of
// what the SDK says only that a workflow cannot go on is passed on.
func Open(address, namespace, fleet string, say func(string)) (*Temporal, error) {
	o, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return nil, fmt.Errorf("the TEMPORAL_ variables, or the file of Temporal's settings: %w", err)
	}
	o.HostPort = cmp.Or(address, o.HostPort, client.DefaultHostPort)
	o.Namespace = cmp.Or(namespace, o.Namespace, client.DefaultNamespace)
	host, _, err := net.SplitHostPort(o.HostPort)
	if err != nil {
		return nil, fmt.Errorf("the address of Temporal, %s: want host:port", o.HostPort)
	}
	if o.ConnectionOptions.TLSDisabled && !loopback.Is(host) {
		return nil, fmt.Errorf("the TEMPORAL_ variables switch TLS off, and %s is not loopback: names of homes and errors would go to it as they are", host)
	}
	if o.ConnectionOptions.TLS == nil && !loopback.Is(host) {
		o.ConnectionOptions.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	o.Logger = stuck(say)
	c, err := client.NewLazyClient(o)
	if err != nil {
		return nil, fmt.Errorf("temporal at %s: %w", o.HostPort, err)
	}
	return &Temporal{client: c, namespace: o.Namespace, fleet: fleet, safe: o.ConnectionOptions.TLS != nil, Address: o.HostPort}, nil
}

// stuck passes on what nobody else says and somebody must mend: a workflow that cannot go on.
type stuck func(string)

func (stuck) Debug(string, ...any) {}
func (stuck) Info(string, ...any)  {}
func (stuck) Warn(string, ...any)  {}

// Error passes on what is of that, with which workflow and why.
func (say stuck) Error(said string, pairs ...any) {
	if text := strings.ToLower(said); !strings.Contains(text, "panic") && !strings.Contains(text, "determinis") {
		return
	}
	for pair := range slices.Chunk(pairs, 2) {
		if pair[0] == "WorkflowID" || pair[0] == "Error" {
			said += fmt.Sprintf(", %s %v", pair...)
		}
	}
	say("temporal: " + said)
}

// Close ends the connection.
func (t *Temporal) Close() { t.client.Close() }

// Check says whether Temporal is there, and has the namespace.
func (t *Temporal) Check(ctx context.Context) error {
	_, err := t.client.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: t.namespace})
	if err != nil && t.safe && strings.Contains(err.Error(), ": write: ") { // TLS 1.3 says why too late
		err = fmt.Errorf("%w; one that wants certificates of its clients ends so: TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH name this one's", err)
	}
	if err != nil {
		return fmt.Errorf("temporal at %s, namespace %s: %w", t.Address, t.namespace, err)
	}
	return nil
}

// start are the options of a home's workflow, of which there is one.
func (t *Temporal) start(home int64) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{ID: ID(t.fleet, home), TaskQueue: base(t.fleet), WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING}
}

// Start sees to it that a home has its workflow.
func (t *Temporal) Start(ctx context.Context, home int64, name string, needs []string) error {
	_, err := t.client.ExecuteWorkflow(ctx, t.start(home), workflowName, Input{Name: name, Due: true, Next: Next{Needs: needs}})
	return err
}

// Signal has a home visited soon, also where it has no workflow yet.
func (t *Temporal) Signal(ctx context.Context, home int64, name string, needs []string) error {
	_, err := t.client.SignalWithStartWorkflow(ctx, ID(t.fleet, home), signalName, Signal{needs}, t.start(home), workflowName, Input{Name: name, Due: true, Next: Next{Needs: needs}})
	return err
}

// Running are the homes that have a workflow, as of a moment ago.
func (t *Temporal) Running(ctx context.Context) (map[int64]bool, error) {
	homes := map[int64]bool{}
	for next := []byte(nil); ; {
		page, err := t.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			PageSize: 1000, NextPageToken: next,
			Query: fmt.Sprintf("WorkflowType = '%s' AND TaskQueue = '%s' AND ExecutionStatus = 'Running'", workflowName, base(t.fleet)),
		})
		if err != nil {
			return nil, err
		}
		for _, e := range page.Executions {
			if id, err := strconv.ParseInt(strings.TrimPrefix(e.Execution.WorkflowId, base(t.fleet)+"-"), 10, 64); err == nil {
				homes[id] = true
			}
		}
		if next = page.NextPageToken; len(next) == 0 {
			return homes, nil
		}
	}
}
