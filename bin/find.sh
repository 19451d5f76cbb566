# Sets $rouse to the program that serves $home: $ROUSE_BIN, the home's own, one on the usual paths, or one built here.
PATH="$PATH:$HOME/bin:$HOME/.local/bin:/usr/local/bin:$HOME/go/bin:/usr/local/go/bin"
rouse=${ROUSE_BIN:-$home/bin/rouse}
[ -x "$rouse" ] || rouse=$(command -v rouse) || rouse=
if [ -z "$rouse" ] && [ -d "$home/cmd/rouse" ]; then
	rouse=$home/bin/rouse
	(cd "$home" && CGO_ENABLED=0 go build -trimpath -o "$rouse" ./cmd/rouse) || exit 1
fi
if [ -z "$rouse" ]; then
	echo "rouse: no program found; put it on the PATH, or set ROUSE_BIN" >&2
	exit 2
fi
