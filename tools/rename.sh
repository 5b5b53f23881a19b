#!/usr/bin/env bash
# tools/rename.sh NAME: gives the Go module another path, in go.mod, Go files, notebooks and documents.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

new=${1-}
if [[ ! $new =~ ^[a-z0-9][a-z0-9.-]*\.[a-z]+(/[A-Za-z0-9._~-]+)+$ ]]; then
	echo "rename: ${new:-nothing} is no module path; say for example: make module NAME=github.com/you/qdnb" >&2
	exit 1
fi
old=$(sed -n 's/^module //p' go.mod)
if [[ $old == "$new" ]]; then
	echo "the module's path is $new already"
	exit 0
fi

# Followed by a character of a longer path element, as in example.com/qdnb2, the old path is another one.
pattern="${old//./\\.}([^A-Za-z0-9._~-]|$)"
mapfile -d '' -t files < <(
	find . \( -path ./.git -o -path ./.tools -o -path ./build -o -path ./runs -o -name .ipynb_checkpoints \) -prune -o \
		-type f \( -name go.mod -o -name '*.go' -o -name '*.ipynb' -o -name '*.md' -o -name '*.yml' -o -name '*.sh' -o -name Makefile -o -name Containerfile \) \
		-exec grep -lZE "$pattern" {} +
)
scratch=$(mktemp)
trap 'rm -f "$scratch"' EXIT
for file in "${files[@]}"; do
	sed -E "s#$pattern#$new\\1#g" "$file" >"$scratch"
	cat "$scratch" >"$file" # keeps the file's mode
done
gofmt -w $(find . -path ./.tools -prune -o -name '*.go' -print)
echo "$old is now $new in ${#files[@]} files; \`git diff --stat\` shows them"
