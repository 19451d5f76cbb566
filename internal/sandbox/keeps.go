package sandbox

// bubblewrapKeeps is the column of bubblewrap.
func bubblewrapKeeps() []keeper {
	open := func(b *Box) bool { return b.policy.Network == Open }
	counted := func(b *Box) bool { return b.system.Counts }
	return []keeper{
		{Hold{OwnFiles, "bubblewrap", ""}, nil},
		{Hold{Writes, "bubblewrap", ""}, nil},
		{Hold{Reads, "bubblewrap", ""}, nil},
		{Hold{Attributes, "bubblewrap", ""}, nil},
		{Hold{NoNetwork, "bubblewrap", ""}, nil},
		{Hold{Hosts, "bubblewrap", ""}, nil},
		{Hold{Services, "bubblewrap", "sockets outside of /run and /tmp are reached, and abstract ones: network: listed would keep these off"}, open},
		{Hold{Services, "bubblewrap", "sockets outside of /run and /tmp are reached"}, nil},
		{Hold{Processes, "bubblewrap", ""}, nil},
		{Hold{Tree, "bubblewrap", ""}, nil},
		{Hold{Privileges, "no_new_privs", ""}, nil},
		{Hold{Count, "rlimit", ""}, counted},
	}
}

// landlockKeeps is the column of Landlock and seccomp.
func landlockKeeps() []keeper {
	abi := func(n int) func(*Box) bool { return func(b *Box) bool { return b.system.Landlock >= n } }
	sockets := func(b *Box) bool { return b.policy.UnixSockets }
	const seen = "command lines of others are seen, and the user's terminals can be read"
	const wrap = "; bubblewrap would (apt install bubblewrap)"
	return []keeper{
		{Hold{OwnFiles, "Landlock", "their names, sizes and times are seen"}, abi(3)},
		{Hold{OwnFiles, "Landlock and seccomp", "their names, sizes and times are seen"}, nil},
		{Hold{Writes, "Landlock", ""}, abi(3)},
		{Hold{Writes, "Landlock and seccomp", ""}, nil},
		{Hold{Reads, "Landlock", "names, sizes and times of files are seen"}, nil},
		{Hold{Attributes, "", "Landlock does not keep the user's own files from chmod, chown and touch" + wrap}, nil},
		{Hold{NoNetwork, "seccomp", "a service with a unix socket may reach it: unix_sockets: false"}, sockets},
		{Hold{NoNetwork, "seccomp", ""}, nil},
		{Hold{Hosts, "", "no list can be kept, so there is no network at all" + wrap + " keep it"}, nil},
		{Hold{Services, "", "Landlock cannot tell one unix socket from another: unix_sockets: false"}, sockets},
		{Hold{Services, "seccomp", ""}, nil},
		{Hold{Processes, "Landlock", seen}, abi(6)},
		{Hold{Processes, "Landlock", seen + ", and signals reach the user's other processes, Rouse too: Linux 6.12 or bubblewrap would keep them off"}, nil},
		{Hold{Tree, "", "what a killed Rouse leaves is ended at its next wake" + wrap + " end it at once"}, nil},
		{Hold{Privileges, "no_new_privs", ""}, nil},
	}
}
