#!/bin/sh
# Ends with 0 if the branch rouse, cloned anew, passes the tests and holds all of the newest default branch, and
# no other branch has a commit that its origin has not.
set -e
bin=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
newest=$(git symbolic-ref --short refs/remotes/origin/HEAD)
git merge-base --is-ancestor "$newest" rouse || { echo "the branch rouse does not hold all of $newest" >&2; exit 1; }
for branch in $(git for-each-ref --format='%(refname:short)' refs/heads); do
	[ "$branch" = rouse ] || [ -z "$(git rev-list -n 1 "$branch" --not --remotes)" ] || { echo "$branch was changed" >&2; exit 1; }
done
clone=$(mktemp -d)
trap 'rm -rf "$clone"' EXIT
git clone -q --branch rouse . "$clone"
cd "$clone"
sh "$bin/tests.sh" >"$clone/.tests" 2>&1 || { tail -n 20 "$clone/.tests" >&2; exit 1; }
