//go:build ignore

// Command temporal is the development server of Temporal, for machines without its own command:
// `server start-dev` with those flags of it that package dev gives. All services are in this
// process, and the one database is a file.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/common/testing/freeport"
	"go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
)

const host, clusterName = "127.0.0.1", "active"

func main() {
	flags := flag.NewFlagSet("temporal server start-dev", flag.ExitOnError)
	port := flags.Int("port", 7233, "port of the frontend")
	file := flags.String("db-filename", "", "file of the database")
	level := flags.String("log-level", "error", "what is said at least")
	pragmas := map[string]string{"mode": "rwc"}
	flags.Func("sqlite-pragma", "KEY=VALUE of the database", func(s string) error {
		key, value, _ := strings.Cut(s, "=")
		pragmas[key] = value
		return nil
	})
	flags.Bool("headless", true, "without a page, which this server has not")
	if len(os.Args) < 3 || os.Args[1] != "server" || os.Args[2] != "start-dev" {
		fmt.Fprintln(os.Stderr, "usage: temporal server start-dev --db-filename FILE [--port PORT]")
		os.Exit(1)
	}
	_ = flags.Parse(os.Args[3:]) // it exits itself
	if err := serve(*port, config.SQL{PluginName: sqliteplugin.PluginName, DatabaseName: *file, ConnectAttributes: pragmas}, *level); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve serves until a signal comes.
func serve(port int, db config.SQL, level string) error {
	if err := prepare(db); err != nil {
		return err
	}
	c, hosts := settings(port, db)
	s, err := temporal.NewServer(
		temporal.WithConfig(c),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(hosts),
		temporal.WithLogger(log.NewZapLogger(log.BuildZapLogger(log.Config{Level: level}))),
		temporal.InterruptOn(temporal.InterruptCh()),
	)
	if err != nil {
		return err
	}
	return s.Start()
}

// prepare makes the database where there is none, whole or not at all, and its namespace.
func prepare(db config.SQL) error {
	if _, err := os.Stat(db.DatabaseName); errors.Is(err, fs.ErrNotExist) {
		fresh := db
		fresh.DatabaseName += ".new"
		fresh.ConnectAttributes = map[string]string{"mode": "rwc"}
		_ = os.Remove(fresh.DatabaseName) // of one that was killed
		if err := sqlite.SetupSchema(&fresh); err != nil {
			return err
		}
		if err := os.Rename(fresh.DatabaseName, db.DatabaseName); err != nil {
			return err
		}
	}
	namespace, err := sqlite.NewNamespaceConfig(clusterName, "default", false, nil)
	if err != nil {
		return err
	}
	return sqlite.CreateNamespaces(&db, namespace)
}

// settings are those of one process that is everything, and where in it each service is.
func settings(port int, db config.SQL) (*config.Config, map[primitives.ServiceName]static.Hosts) {
	at := fmt.Sprintf("%s:%d", host, port)
	c := &config.Config{Services: map[string]config.Service{}}
	hosts := map[primitives.ServiceName]static.Hosts{}
	for _, name := range temporal.DefaultServices {
		port := port
		if name != string(primitives.FrontendService) {
			port = freeport.MustGetFreePort()
		}
		c.Services[name] = config.Service{RPC: config.RPC{GRPCPort: port, BindOnIP: host}}
		hosts[primitives.ServiceName(name)] = static.SingleLocalHost(fmt.Sprintf("%s:%d", host, port))
	}
	c.Global.Membership = config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: host}
	c.Persistence = config.Persistence{
		DefaultStore: "file", VisibilityStore: "file", NumHistoryShards: 1,
		DataStores: map[string]config.DataStore{"file": {SQL: &db}},
	}
	c.ClusterMetadata = &cluster.Config{
		FailoverVersionIncrement: 10, MasterClusterName: clusterName, CurrentClusterName: clusterName,
		ClusterInformation: map[string]cluster.ClusterInformation{clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: at}},
	}
	c.DCRedirectionPolicy.Policy = "noop"
	c.PublicClient.HostPort = at
	c.Archival.History.State, c.Archival.Visibility.State = "disabled", "disabled"
	c.NamespaceDefaults.Archival.History.State, c.NamespaceDefaults.Archival.Visibility.State = "disabled", "disabled"
	return c, hosts
}
