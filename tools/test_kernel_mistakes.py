"""Tests of mistakes in cells, which run at the same time as test_kernel.py. They need `make setup`."""

import json
import subprocess
import unittest

from tools.test_kernel import ROOT, Kernel

# Cells with a mistake, and what each prints on stderr, with the cell's line where qdnb knows it.
MISTAKES = [
    ('func observe(m envs.StepView) *Node {\n\tangles, velocities := m.System.JointAngles(m.State)\n'
     '\treturn Add(Concatenate([]*Node{Sin(angles), Cos(angles)}, 0), velocities)\n}\n\n'
     '%%\nnb.Check(envtest.Check(acrobat(9.81)))', r"observe at .*Cell \[\d+\] Line 3.*main\.go:\d+: program .*\[4, \d+\].*\[2, \d+\]"),
    ("%%\nnb.Check(fmt.Errorf(\"seed %d: %w\", 3, envtest.Check(acrobat(9.81))))", r"qdnb: seed 3: .*\nobserve at .*Line 3"),
    ("%%\nlog.Fatal(fmt.Errorf(\"seed %d: %w\", 3, envtest.Check(acrobat(9.81))))", r"\d seed 3: .*\nobserve at .*Line 3"),
    ("%%\npanic(fmt.Errorf(\"seed %d: %w\", 3, envtest.Check(acrobat(9.81))))", r"panic: .*seed 3: "),
    ('func observe(m envs.StepView) *Node {\n\tangles, velocities := m.System.JointAngles(m.State)\n'
     '\treturn Concatenate([]*Node{Sin(angles), Cos(angles), velocities}, 0)\n}\n\n'
     'func reward(before, after envs.StepView, action *Node) *Node {\n\treturn ReduceAllMean(action)\n}\n\n'
     '%%\nnb.Check(envtest.Check(acrobat(9.81)))', r"reward at .*Line 6.*it returns .*shape \(Float32\)"),
    ("%%\nlog.SetFlags(log.Llongfile | log.LstdFlags)\nlog.Fatal(\"with its place\")", r"Line 3.*main\.go:\d+: with its place"),
    ('import "k8s.io/klog/v2"\n\n%%\nklog.Fatalf("seed %d: %v", 3, nb.Interruptible())', r"^seed 3: context"),
    ("%%\nfmt.Fprintln(os.Stderr, \"a: b: domain.go:12, c: main.go:3: d\")\nos.Exit(3)", r"a: b: domain"),
    ("%%\nnb.Draw(nil, nil)", r"^qdnb: nothing to draw: the drawing is nil; check .*\n$"),
    ("%%\nnb.Draw(figures.Repertoire(nil))", r"^qdnb: no run: it is nil; .*\n$"),
    ("%%\np := plot.New()\np.Y.Max = math.NaN()\nnb.Draw(&figures.Panel{Plot: p}, nil)",
     r"^qdnb: figures: row 0, column 0: the y axis goes from \+Inf to NaN: want finite limits; .*\n$"),
    ("%%\nvar none []int\nfmt.Println(none[len(os.Args)])", r"panic: runtime error: index out of range"),
    ("func endless(n int) int {\n\treturn endless(n+1) + 1\n}\n\n%%\nendless(0)",
     r"^runtime: goroutine stack exceeds.*\nfatal error: stack overflow\n(.*\n){2}"
     r"main\.endless.*\n.*Line [12].*\n(.*\n){0,3}\(\d+ more lines, .*\n$"),
    ("%env GOTRACEBACK all\n%%\nendless(0)", r"^runtime: (.*\n){60}"),
]


class TestMistakes(Kernel):
    def test_mistakes_leave_the_kernel_alive(self) -> None:
        self.assertEqual(self.install("elsewhere").returncode, 0)
        notebook = json.loads((ROOT / "notebooks/new_environment.ipynb").read_text())
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code" and "%%" not in "".join(cell["source"])][:4]
        for source in [source for source, _ in MISTAKES] + ["%%\nfmt.Println(len(rods(9.81).Joints), \"joints\")"]:
            cells.append({"cell_type": "code", "id": str(len(cells)), "metadata": {"tags": ["raises-exception"]},
                          "execution_count": None, "outputs": [], "source": source})
        notebook["cells"] = cells
        path = self.folder / "mistakes.ipynb"
        path.write_text(json.dumps(notebook))
        command = [ROOT / ".tools/venv/bin/python", ROOT / "tools/notebook.py", "run", path, "--kernel", "elsewhere",
                   "--out", self.folder / "out", "--log", self.folder]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        cells = json.loads((self.folder / "out/mistakes.ipynb").read_text())["cells"][:-1]  # less the footer
        for cell, (_, said) in zip(cells[4:], MISTAKES):
            outputs = cell["outputs"]
            stderr = "".join("".join(o["text"]) for o in outputs if o.get("name") == "stderr")
            with self.subTest("".join(cell["source"])):
                self.assertRegex(stderr, said)
                self.assertNotIn("exit status", stderr)  # which the error says
                self.assertEqual([o["output_type"] for o in outputs if o["output_type"] != "stream"][-1:], ["error"])
        self.assertIn("2 joints", str(cells[-1]["outputs"]))


if __name__ == "__main__":
    unittest.main()
