package sandbox

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Key tells apart what decides whether bubblewrap works: the program, the kernel and
// its boot, the user, and what the machine forbids users. What a probe found holds as
// long as the key stays the same. It is "" where there is no such program.
func Key(bubblewrap string) string {
	info, err := os.Stat(bubblewrap)
	if err != nil {
		return ""
	}
	var name unix.Utsname
	_ = unix.Uname(&name)
	key := fmt.Sprint(bubblewrap, " ", info.Size(), " ", info.ModTime().UnixNano(), " ", info.Mode(), " ", unix.ByteSliceToString(name.Release[:]), " ", os.Geteuid(), " ", administers())
	for _, file := range append(forbidding(), "/proc/sys/kernel/random/boot_id") {
		key += " " + setting(file)
	}
	return key
}

// forbidding are the settings by which a machine forbids user namespaces and tracing.
func forbidding() []string {
	return []string{
		"/proc/sys/kernel/unprivileged_userns_clone", "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
		"/proc/sys/user/max_user_namespaces", "/proc/sys/kernel/yama/ptrace_scope",
	}
}

// setting is what a file of one line says, "-" where there is none.
func setting(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return "-"
	}
	return string(bytes.TrimSpace(b))
}

// Probe tries whether bubblewrap, at this path, works with all that boxes ask of it: run
// runs a command that does nothing in a box, and says whether it succeeded. It gives
// what is in the way, for the operator; "" is nothing.
func Probe(bubblewrap string, s System, run func(*Box) error) string {
	if bubblewrap == "" {
		return "bubblewrap is not installed (apt install bubblewrap)"
	}
	if !s.Tracing {
		return "processes cannot be traced here (ptrace), which starting bubblewrap takes"
	}
	s.Bubblewrap = bubblewrap
	err := run(New(Policy{Read: []string{"/"}, Network: None}, s))
	if err == nil {
		return ""
	}
	return cmp.Or(inTheWay(err.Error()), fmt.Sprintf("bubblewrap does not work here: %v", err))
}

// inTheWay says what of the machine makes bubblewrap fail, as far as that is known.
func inTheWay(said string) string {
	namespaces := strings.Contains(said, "namespace") || strings.Contains(said, "uid map") || strings.Contains(said, "Operation not permitted") || strings.Contains(said, "Permission denied")
	switch {
	case strings.Contains(said, "proc on /newroot"):
		return "no /proc can be mounted here, as in most containers: bubblewrap needs that"
	case strings.Contains(said, "Unknown option"):
		return "bubblewrap is too old: 0.5 is needed"
	case !namespaces:
		return ""
	case setting("/proc/sys/kernel/unprivileged_userns_clone") == "0":
		return "user namespaces are forbidden here (kernel.unprivileged_userns_clone=0)"
	case setting("/proc/sys/user/max_user_namespaces") == "0":
		return "user namespaces are forbidden here (user.max_user_namespaces=0)"
	case setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1":
		return "user namespaces are forbidden here (kernel.apparmor_restrict_unprivileged_userns=1): bubblewrap needs a profile of AppArmor"
	}
	return "namespaces are forbidden here, as in most containers: " + said
}
