"""Tests of roofline.py: python3 -m unittest tools/test_roofline.py"""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import roofline  # noqa: E402

# Ten times a product of many rows and an addition, then two of a row each and an activation.
MODULE = """
HloModule evaluation, entry_computation_layout={(f32[64,64]{1,0})->f32[64,64]{1,0}}

%body.1 (p: (s32[], /*index=1*/f32[64,64])) -> (s32[], f32[64,64]) {
  %p = (s32[], /*index=1*/f32[64,64]{1,0}) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %x = f32[64,64]{1,0} get-tuple-element(%p), index=1
  %w = f32[64,64]{1,0} constant({...})
  %dot.1 = f32[64,64]{1,0} dot(%x, %w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  %y = f32[64,64]{1,0} add(%dot.1, %x)
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  ROOT %t = (s32[], f32[64,64]{1,0}) tuple(%next, %y)
}

%condition.1 (p: (s32[], f32[64,64])) -> pred[] {
  %p.1 = (s32[], f32[64,64]{1,0}) parameter(0)
  %i.1 = s32[] get-tuple-element(%p.1), index=0
  %ten = s32[] constant(10)
  ROOT %less = pred[] compare(%i.1, %ten), direction=LT
}

ENTRY %main.9 (a: f32[64,64]) -> f32[64,64] {
  %a = f32[64,64]{1,0} parameter(0)
  %zero = s32[] constant(0)
  %start = (s32[], f32[64,64]{1,0}) tuple(%zero, %a)
  %loop = (s32[], /*index=1*/f32[64,64]{1,0}) while(%start), condition=%condition.1, body=%body.1
  %out = f32[64,64]{1,0} get-tuple-element(%loop), index=1
  %row = f32[2,1,16]{2,1,0} constant({...})
  %weights = f32[2,16,32]{2,1,0} constant({...})
  %dot.2 = f32[2,1,32]{2,1,0} dot(%row, %weights), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}
  ROOT %r = f32[64,64]{1,0} tanh(%out)
}
"""


class TestRoofline(unittest.TestCase):
    def test_work_is_counted(self):
        work = roofline.Counter(MODULE).total()
        self.assertEqual(work.products, 10 * 2 * 64**3)
        self.assertEqual(work.arithmetic, 10 * 64 * 64 + 64 * 64)
        self.assertEqual(work.weights, 4 * 2 * 16 * 32)

    def test_turns_that_only_a_run_tells(self):
        self.assertIn("%ten = s32[] constant(10)", MODULE)
        unknown = MODULE.replace("%ten = s32[] constant(10)", "%ten = s32[] multiply(%i.1, %i.1)")
        self.assertEqual(roofline.Counter(unknown, 0.5).total().products, 0.5 * 2 * 64**3)

    def test_what_is_no_module_is_an_error(self):
        with self.assertRaises(roofline.Failure):
            roofline.Counter("nothing")


if __name__ == "__main__":
    unittest.main()
