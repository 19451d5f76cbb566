package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"rouse/home"
	"rouse/internal/text"
	"rouse/setup/backup"
)

func (a *app) newBackup() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Write the home whole into one file",
		Long: `Write all of the home into FILE, a compressed tar that only you can read: memory, snapshots,
journals, observations, notebooks without their environments, workspace and history, and also
what is secret, such as the vault with its key and .env. A workspace elsewhere is not in it.

A cycle may run meanwhile: it is in the backup as a crash at one moment would have left it,
and the first wake in the restored home settles it.

Exit codes: 0, 1 if it cannot be written, 2 if the home is of a newer rouse.`,
		Example: "  rouse backup /mnt/usb/my-agent.tar.gz",
		Args:    cobra.ExactArgs(1),
		RunE:    in(a.anyHome, a.backup),
	}
}

func (a *app) backup(h home.Home, args []string) error {
	r, err := backup.Write(h, args[0], version(), a.now())
	if err != nil {
		return err
	}
	for what, list := range map[string][]string{"left out, as it is no file that can be read": r.Skipped, "changed while it was copied": r.Torn} {
		if len(list) > 0 {
			fmt.Fprintf(a.stderr, "%s: %s\n", what, text.Line(strings.Join(list, ", "), 1000))
		}
	}
	fmt.Fprintf(a.stdout, "%s has %s, %.1f MiB, up to cycle %s\n", args[0], text.Count(r.Files, "file"), float64(r.Bytes)/(1<<20), cmp.Or(r.Cycle, "none"))
	return nil
}

func (a *app) newRestore() *cobra.Command {
	return &cobra.Command{
		Use:   "restore FILE DIR",
		Short: "Make a home of a backup",
		Long: `Make a home of what rouse backup wrote, in DIR, which must be new or empty. All of it is
checked by its hashes first: there is a whole home then, or none. Whoever wakes the old home
still does; rouse install in the new one has it woken.

Exit codes: 0, 1 if it cannot be restored.`,
		Example: "  rouse restore /mnt/usb/my-agent.tar.gz my-agent",
		Args:    cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			h, err := backup.Restore(args[0], args[1])
			if err == nil {
				fmt.Fprintf(a.stdout, "%s is the home as it was at %s, up to cycle %s\n", args[1], h.Time.Format("2006-01-02 15:04"), cmp.Or(h.Cycle, "none"))
			}
			return err
		},
	}
}
