"""Tests of exported ONNX files with ONNX Runtime, which is optional: python3 -m unittest tools/test_onnx.py"""

import importlib.util
import json
import os
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@unittest.skipUnless(importlib.util.find_spec("onnxruntime"), "onnxruntime is not installed")
class TestONNX(unittest.TestCase):
    def test_actions_are_those_of_the_npz_file(self):
        import numpy
        import onnxruntime

        rng = numpy.random.default_rng(0)

        def mlp(arrays, x):
            layers = len(arrays["sizes"]) - 1
            for i in range(layers):
                x = x @ arrays[f"layer_{i}.kernel"].astype(float) + arrays[f"layer_{i}.bias"]
                x = numpy.maximum(x, 0) if i + 1 < layers else x
            return numpy.tanh(x[:, :8])  # the rest are scales

        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["go", "build", "-o", folder, "./cmd/qdnb"], cwd=ROOT, check=True)
            qdnb = lambda *args: subprocess.run([folder + "/qdnb", *args], check=True, capture_output=True, text=True).stdout  # noqa: E731
            path = lambda name: os.path.join(folder, name)  # noqa: E731
            row = lambda inputs, outputs: (inputs + 1) * 64 + 65 * outputs  # noqa: E731
            numpy.save(path("policy.npy"), rng.normal(0, 0.1, row(87 + 5, 16)).astype("f"))
            fitness = numpy.array([3, -numpy.inf, 5, 4], "f")
            numpy.savez(path("found.npz"), genotypes=rng.normal(0, 0.1, (4, row(87, 8))).astype("f"), fitnesses=fitness,
                        descriptors=rng.random((4, 4), "f"), centroids=rng.random((4, 4), "f"))
            made = ("--env", "ant-uni", "--set", "hidden=[64]", "--runs", folder, "--json")
            skills = json.loads(qdnb("import", "--algorithm", "dads", "--policy", path("policy.npy"), *made))["run"]
            cells = json.loads(qdnb("import", "--algorithm", "map-elites", "--repertoire", path("found.npz"), *made))["run"]
            x = rng.normal(0, 1, (7, 87)).astype("f")
            chosen = numpy.eye(5, dtype="f")[[0, 1, 2, 3, 4, 0, 1]]
            for run, what, more in ((skills, (), {"skill": chosen}), (skills, ("--skill", "3"), {}), (cells, ("--cell", "3"), {})):
                for kind in ("npz", "onnx"):
                    qdnb("export", run, *what, "--force", "--out", path("policy." + kind))
                session = onnxruntime.InferenceSession(path("policy.onnx"), providers=["CPUExecutionProvider"])
                action, = session.run(None, {"observation": x, **more})
                want = mlp(numpy.load(path("policy.npz")), numpy.concatenate([x, *more.values()], 1))
                numpy.testing.assert_allclose(action, want, rtol=0, atol=1e-6)
            alone = action  # of cell 3
            qdnb("export", cells, "--repertoire", "--out", path("all.onnx"))
            session = onnxruntime.InferenceSession(path("all.onnx"), providers=["CPUExecutionProvider"])
            action, = session.run(None, {"observation": x, "policy": numpy.array([2, 0, 1, 2, 2, 0, 1])})
            numpy.testing.assert_allclose(action[[0, 3, 4]], alone[[0, 3, 4]], rtol=0, atol=1e-6)
            self.assertGreater(abs(action[1] - alone[1]).max(), 0.01)
            with open(path("all.json"), encoding="utf-8") as file:
                contract = json.load(file)
            for port, value in zip(contract["inputs"] + contract["outputs"], session.get_inputs() + session.get_outputs()):
                self.assertEqual((port["name"], port["shape"]), (value.name, value.shape))
            self.assertEqual([p["cell"] for p in contract["policies"]], [0, 2, 3])
            self.assertEqual(contract["inputs"][0]["components"][0], {"name": "height of $ Torso", "unit": "m"})
            self.assertEqual([c["scale"] for c in contract["inputs"][0]["components"] if "scale" in c], [-1] * 8)


if __name__ == "__main__":
    unittest.main()
