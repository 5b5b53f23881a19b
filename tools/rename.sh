#!/usr/bin/env bash
# tools/rename.sh NAME: changes the Go module path in go.mod, Go files, notebooks and documents.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

new=${1-}
if [[ ! $new =~ ^[a-z0-9][a-z0-9.-]*\.[a-z]+(/[A-Za-z0-9._~-]+)+$ ]]; then
	echo "rename: ${new:-nothing} is not a module path; for example: make module NAME=github.com/you/qdnb" >&2
	exit 1
fi
old=$(sed -n 's/^module //p' go.mod)
if [[ $old == "$new" ]]; then
	echo "the module path is already $new"
	exit 0
fi

mapfile -d '' -t files < <(
	find . \( -path ./.git -o -path ./.tools -o -path ./build -o -path ./runs -o -name .ipynb_checkpoints \) -prune -o \
		-type f \( -name go.mod -o -name '*.go' -o -name '*.ipynb' -o -name '*.md' -o -name '*.yml' -o -name '*.sh' -o -name Makefile -o -name Containerfile \) \
		-exec grep -lZF "$old" {} +
)
python3 - "$old" "$new" "${files[@]}" <<-'EOF'
	import re, sys

	# With more of the same path element around it, as in example.com/qdnb2 or
	# registry.example.com/qdnb, it is another path.
	old, new, *files = sys.argv[1:]
	path = re.compile(r"(?<![\w.~-])" + re.escape(old) + r"(?![\w.~-])")
	for name in files:
	    with open(name, "r+", encoding="utf-8", newline="") as file:
	        text = path.sub(new, file.read())
	        file.seek(0)
	        file.write(text)
	        file.truncate()
EOF
gofmt -w $(find . -path ./.tools -prune -o -name '*.go' -print)
echo "$old is now $new in ${#files[@]} files; \`git diff --stat\` shows them"
