"""install_kernel.py [NAME]: installs the Go kernel of this checkout for all notebooks of this user, under a name (default: gonb).

Other front ends, such as VS Code, Colab and one's own Jupyter, start a kernel by the command in its kernel.json. Here
that is tools/env, so that cells find the checkout as they do in `make lab`. A kernel of the same name that starts
something else is kept.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
START = str(ROOT / "tools" / "env")


def main() -> int:
    name = sys.argv[1] if len(sys.argv) > 1 else "gonb"
    own = ROOT / ".tools" / "jupyter" / "data" / "kernels" / "gonb"
    # tools/env writes the spec that is changed here.
    if subprocess.run([START, "true"]).returncode:  # it says why
        return 1
    # Without tools/env, Jupyter names the user's folder.
    jupyter = [ROOT / ".tools" / "venv" / "bin" / "python", "-m", "jupyter", "--data-dir"]
    data = Path(subprocess.run(jupyter, check=True, stdout=subprocess.PIPE, text=True).stdout.strip())
    folder = data / "kernels" / name
    path = folder / "kernel.json"
    if path.exists() and json.loads(path.read_text())["argv"][0] != START:
        print(f"install_kernel.py: {path} is another kernel: choose a name with KERNEL=..., such as `make kernel KERNEL=qdnb`",
              file=sys.stderr)
        return 1
    spec = json.loads((own / "kernel.json").read_text())
    spec["argv"].insert(0, START)
    if name != "gonb":
        spec["display_name"] = f"Go ({name})"
    # Editors started from a desktop may not have Go in their PATH.
    go = os.environ.get("QDNB_GO") or shutil.which("go")  # in a terminal of JupyterLab the latter is the kernel's wrapper
    spec["env"] = {"QDNB_GO": go, "PATH": os.pathsep.join([str(Path(go).parent), "${PATH}"])} if go else {}
    shutil.copytree(own, folder, dirs_exist_ok=True)
    path.write_text(json.dumps(spec, indent=1) + "\n")
    print(f"installed {path}; it starts {START}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
