#!/usr/bin/env bash
# Builds a release of what is committed: a static program for each target, with its manual and completions, Debian
# packages, an image where something can build one, and checksums. Run twice, anywhere, it makes the same bytes.
#   release/build.sh [OUT [OS/ARCH...]]       by default all into dist/
set -euo pipefail
root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
out=${1:-$root/dist}
targets=${*:2}
mkdir -p "$out" && out=$(cd "$out" && pwd)
work=$(mktemp -d) && chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
umask 022
export LC_ALL=C TZ=UTC CGO_ENABLED=0 GOFLAGS= GOEXPERIMENT= GOAMD64=v1 GOARM64=v8.0 GORISCV64=rva20u64

printf '[safe]\n\tdirectory = *\n' >"$work/gitconfig" # whoever owns the clone; and no settings of whoever builds
export GIT_CONFIG_GLOBAL=$work/gitconfig
git clone -q "$root" "$work/src"
cd "$work/src"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
mkdir "$work/doc"
ROUSE_RELEASE=$work/doc go test -trimpath -vet=off -count=1 -run '^TestRelease$' ./cmd/rouse >/dev/null

pack() { tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -C "$1" -c "$2" | gzip -9n; }

deb() { # deb PROGRAM ARCH
	cd "$work" && rm -rf deb
	install -D -m 755 "$1" deb/usr/bin/rouse
	install -D -m 644 -t deb/usr/lib/systemd/system src/release/rouse@.service src/release/rouse@.timer
	install -D -m 644 -t deb/usr/share/man/man1 doc/man/*
	gzip -9n deb/usr/share/man/man1/*
	install -D -m 644 doc/completions/rouse.bash deb/usr/share/bash-completion/completions/rouse
	install -D -m 644 doc/completions/rouse.zsh deb/usr/share/zsh/vendor-completions/_rouse
	install -D -m 644 -t deb/usr/share/fish/vendor_completions.d doc/completions/rouse.fish
	install -D -m 644 -t deb/usr/share/doc/rouse src/README.md src/CHANGELOG.md
	install -D -m 644 -t deb/usr/share/doc/rouse/docs src/docs/*
	ARCH=$2 VERSION=$version GOFLAGS= go run github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.44.0 package -p deb -f src/release/nfpm.yaml -t "$out/rouse_${version}_$2.deb"
	cd src
}

for target in ${targets:-linux/amd64 linux/arm64 linux/riscv64 darwin/amd64 darwin/arm64}; do
	os=${target%/*} arch=${target#*/} dir=$work/$os-$arch/rouse
	mkdir -p "$dir"
	GOOS=$os GOARCH=$arch go build -trimpath -buildvcs=true -ldflags='-s -w' -o "$dir/rouse" ./cmd/rouse
	version=$(go version -m "$dir/rouse" | awk '$1 == "mod" { sub(/^v/, "", $3); print $3 }') # of the tag, or the commit
	cp -r README.md CHANGELOG.md "$work/doc/man" "$work/doc/completions" "$dir"
	pack "${dir%/*}" rouse >"$out/rouse_${version}_${os}_$arch.tar.gz"
	[ "$os" != linux ] || deb "$dir/rouse" "$arch"
done
cp release/Containerfile "$out"
cd "$out"
sha256sum "rouse_${version}"_* Containerfile >SHA256SUMS
for builder in docker podman buildah; do
	if "$builder" info >/dev/null 2>&1; then
		"$builder" build -q -f Containerfile -t "rouse:$version" . && exit
	fi
done
echo "built $version in $out; nothing here builds the image: $out/Containerfile"
