"""Tests of aot.py: python3 -m unittest tools/test_aot.py"""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import aot  # noqa: E402

HLO = """HloModule generation, is_scheduled=true

%fused_add (param_0: f32[4]) -> f32[4] {
  %param_0 = f32[4]{0} parameter(0)
  ROOT %add = f32[4]{0} add(%param_0, %param_0)
}

%inner (p: (s32[], f32[4])) -> (s32[], f32[4]) {
  %p = (s32[], f32[4]{0}) parameter(0)
  %x = f32[4]{0} get-tuple-element(%p), index=1
  %f = f32[4]{0} fusion(%x), kind=kLoop, calls=%fused_add
  %c = f32[4]{0} copy(%f)
  ROOT %t = (s32[], f32[4]{0}) tuple(%x, %c)
}

%outer (q: (s32[], f32[4])) -> (s32[], f32[4]) {
  %q = (s32[], f32[4]{0}) parameter(0)
  %one = (s32[], /*index=1*/f32[4]{0}) fusion(%q), kind=kLoop, calls=%fused_add
  ROOT %w = (s32[], f32[4]{0}) while(%one), condition=%cond, body=%inner, backend_config={"known_trip_count":{"n":"5"}}
}

%bound (b: (s32[], f32[4])) -> pred[] {
  %b = (s32[], f32[4]{0}) parameter(0)
  %n = s32[]{:T(128)} constant(250)
  %i = s32[]{:T(128)} get-tuple-element(%b), index=0
  ROOT %less = pred[]{:T(512)} compare(%i, %n), direction=LT
}

%unknown (r: (s32[], f32[4])) -> (s32[], f32[4]) {
  %r = (s32[], f32[4]{0}) parameter(0)
  ROOT %g = (s32[], f32[4]{0}) fusion(%r), kind=kLoop, calls=%fused_add
}

ENTRY %main (a: f32[4]) -> f32[4] {
  %a = f32[4]{0} parameter(0)
  %w.1 = (s32[], f32[4]{0}) while(%a), condition=%cond, body=%outer, backend_config={"known_trip_count":{"n":"250"}}
  %w.2 = (s32[], f32[4]{0}) while(%w.1), condition=%cond, body=%unknown
  ROOT %d = f32[4]{0} custom-call(%w.2), custom_call_target="x"
}
"""


class TestAot(unittest.TestCase):
    def test_nodes_are_counted_loop_by_loop(self):
        c = aot.count(HLO)
        self.assertEqual((c.nodes, c.loop, c.waits), (250 * 11 + 1 + 1, (250, 11), 1))

    def test_counts_of_tpus_are_in_conditions(self):
        tpu = HLO.replace('condition=%cond, body=%outer, backend_config={"known_trip_count":{"n":"250"}}', "condition=%bound, body=%outer")
        self.assertEqual(aot.count(tpu), aot.count(HLO))

    def test_what_is_written_is_read(self):
        row = aot.Row("h100", "map-elites ant-uni", "generation", 12095, "250 x 48", 0, 12.3)
        rows = {row[:3]: row}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "table.csv")
            aot.write(path, rows)
            self.assertEqual(aot.read(path), rows)

    def test_compiled_programs_are_found_again(self):
        with tempfile.TemporaryDirectory() as folder:
            def digest(device: str, devices: int, text: str, flags: str) -> str:
                for name, content in (("p.mlir", text), ("xla_flags.txt", flags)):
                    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                        file.write(content)
                return aot.digest(device, devices, os.path.join(folder, "p.mlir"))

            one = digest("h100", 1, "text", "flags")
            self.assertEqual(one, digest("h100", 2, "text", "flags"))  # a program of one device
            parallel = "num_replicas = 2"
            others = [digest("v5e", 1, "text", "flags"), digest("h100", 1, "other", "flags"), digest("h100", 1, "text", "other"),
                      digest("h100", 2, parallel, "flags"), digest("h100", 1, parallel, "flags")]
            self.assertEqual(len({one, *others}), 6)

    def test_more_nodes_and_more_waits_are_worse(self):
        row = aot.Row("h100", "map-elites ant-uni", "generation", 12095, "250 x 48", 1, 12.3)
        self.assertEqual(aot.worse(row, row), "")
        self.assertEqual(aot.worse(row._replace(nodes=12000, seconds=99.0), row), "")
        self.assertIn("12096 nodes", aot.worse(row._replace(nodes=12096), row))
        self.assertIn("waits", aot.worse(row._replace(waits=2), row))
        self.assertIn("not in the table", aot.worse(row, None))


if __name__ == "__main__":
    unittest.main()
