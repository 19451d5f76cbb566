#!/usr/bin/env bash
# Proves a release, on a Debian machine as root: built twice it is the same, its package installs, works for an ordinary
# user, starts nothing, and leaves nothing when it goes. With ROUSE_SWEEP=full for all targets, and compiled anew.
set -euo pipefail
cd "$(dirname "$0")/.."
targets=linux/amd64
[ "${ROUSE_SWEEP-}" != full ] || targets=
work=$(mktemp -d) && chmod 755 "$work"
installed=
trap '[ -z "$installed" ] || dpkg --purge rouse; chmod -R u+w "$work"; rm -rf "$work"' EXIT
fail() { echo "release: $*" >&2; exit 1; }

release/build.sh "$work/one" $targets
printf '[safe]\n\tdirectory = *\n' >"$work/gitconfig"
GIT_CONFIG_GLOBAL=$work/gitconfig git clone -q . "$work/clone"
(
	[ -n "$targets" ] || export GOCACHE=$work/cache
	umask 077
	TZ=Asia/Tokyo LC_ALL=C.UTF-8 "$work/clone/release/build.sh" "$work/two" $targets >/dev/null
)
diff "$work/one/SHA256SUMS" "$work/two/SHA256SUMS" || fail "built twice it is not the same"
cd "$work/one"
sha256sum --quiet -c SHA256SUMS
echo "built twice, the same bytes: $(wc -l <SHA256SUMS) files"

tar -xzf rouse_*_linux_amd64.tar.gz
rouse/rouse version
if ldd rouse/rouse 2>/dev/null; then fail "it is not static"; fi

# The recipe of the image, also where nothing can build one.
! grep -vE '^(#|FROM|ARG|COPY|RUN|USER|WORKDIR|VOLUME|ENTRYPOINT|CMD|    |$)' Containerfile || fail "what is this instruction?"
ls $(sed -n 's/^COPY \(.*\) .*/\1/p' Containerfile | sed 's/${TARGETARCH}/amd64/') >/dev/null
named=$(sed -n 's/.*--no-install-recommends \(.*\) .tmp.*/\1/p' Containerfile)
apt-cache show bubblewrap >/dev/null 2>&1 || apt-get update -qq
apt-cache show $named >/dev/null || fail "a package of the image is not in Debian"
echo "the image: its recipe holds, of $named"

! dpkg -s rouse >/dev/null 2>&1 || fail "the package is installed here, and this would remove it"
found() { find /etc /usr /var/lib -xdev -not -name '*.pyc' -not -name __pycache__ -not -path '/var/lib/dpkg/*-old' | sort; }
found >"$work/before"
installed=yes
dpkg -i rouse_*_amd64.deb >/dev/null
files=$(dpkg -L rouse)
cp rouse_*_amd64.deb "$work/rouse.deb" # for the night
for part in bin/rouse lib/systemd/system/rouse@.timer share/man/man1/rouse-run.1.gz share/bash-completion/completions/rouse share/zsh/vendor-completions/_rouse share/fish/vendor_completions.d/rouse.fish; do
	grep -qx "/usr/$part" <<<"$files" || fail "no /usr/$part in the package"
done
bash -n /usr/share/bash-completion/completions/rouse
[ ! -e /usr/share/man/man1/rouse-run.1.gz ] || ! command -v man >/dev/null || man --warnings -l /usr/share/man/man1/rouse-run.1.gz 2>&1 | grep 'Run *one *cycle' >/dev/null
said=$(systemd-analyze verify /usr/lib/systemd/system/rouse@daemon.service /usr/lib/systemd/system/rouse@daemon.timer 2>&1 | grep rouse || true)
[ -z "$said" ] || fail "$said"
[ -z "$(find /etc/systemd -name '*rouse*')" ] || fail "something was enabled"
! pgrep -f '^/usr/bin/rouse' || fail "something was started"
mkdir -m 700 "$work/user" && chown nobody "$work/user"
as() { (cd "$work/user" && exec setpriv --reuid=nobody --regid=nogroup --clear-groups env -i HOME="$work/user" PATH=/usr/bin:/bin "$@"); }
as rouse init --from log-watch logs >/dev/null
as rouse init agent >/dev/null
for _ in 1 2 3 4; do as rouse run --home agent --quiet; done
as rouse report agent | grep '^cycles    4 ' || fail "an ordinary user's cycles did not run"
[ -s "$work/user/agent/workspace/hello.txt" ]
dpkg --remove rouse >/dev/null
dpkg --purge rouse >/dev/null 2>&1
installed=
found | diff "$work/before" - || fail "that was left"
echo "the package: installed, used and removed, nothing left"

mkdir "$work/cgroup" "$work/root"
cp "$OLDPWD/cmd/rouse/testdata/systemd/night.service" "$work"
cp "$OLDPWD/release/night.sh" "$work"
sh "$OLDPWD/cmd/rouse/testdata/systemd/boot.sh" "$work" >"$work/console" 2>&1 || true
case $(tail -n 1 "$work/out" 2>/dev/null) in
"the night is over") echo "the units: systemd woke a home by them, $(grep '^sandbox: ' "$work/out")" ;;
*) ! grep -q '^systemd runs' "$work/out" 2>/dev/null || fail "$(cat "$work/out")"; echo "the units: only verified, as no systemd can be started here" ;;
esac
