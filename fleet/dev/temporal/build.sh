#!/bin/sh
# build.sh SOURCE TARGET: builds the development server of Temporal out of its module, with the
# sources in the folder SOURCE, into the file TARGET. Its go.mod is a text as that server, and
# what it needs, is in no module of ours.
set -eu
target=$2
mkdir -p "$(dirname "$target")"
work=$(mktemp -d "$target.XXXXXX")
trap 'rm -rf "$work"' EXIT
cp "$1/main.go" "$work/main.go"
cp "$1/go.mod.txt" "$work/go.mod"
cp "$1/go.sum.txt" "$work/go.sum"
cd "$work"
CGO_ENABLED=0 GOWORK=off GOFLAGS="-buildvcs=false -trimpath" go build -ldflags='-s -w' -o built main.go
mv built "$target"
