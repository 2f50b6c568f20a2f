"""The file of releases keeps what people wrote, and what was measured of other releases."""
import onnx
from harness import facts_file, judge
from harness.cases import Case

import releases

BEFORE = """# A head.

runtime = "onnxruntime"

[[release]]
name = "1.31"
newest_opset = 25
source = "a page"
# Why: it is fast.
fast = [4]

[[release.dtypes]]
op = "Abs"
since = [13]
lacks = ["int8"]

[[release]]
name = "1.9"
newest_opset = 15
source = "a page"
"""


def found(dtypes):
    return {"limits": facts_file.Limits(26, 13, []), "source": "measured", "facts": {"lacks": {}, "dtypes": dtypes, "forms": []}, "lacks_io": ["bfloat16"]}


def test_a_release_is_replaced():
    entry = {"op": "Trilu", "since": [14], "lacks": ["bool"], "reason": "no kernel"}
    after = releases.replaced(BEFORE, "1.31", found([entry]))
    assert after.startswith("# A head.\n\nruntime")
    assert '"Abs"' not in after and "# Why: it is fast.\nfast = [4]\n" in after and 'lacks_io_dtypes = ["bfloat16"]\n' in after
    assert after.endswith('[[release]]\nname = "1.9"\nnewest_opset = 15\nsource = "a page"\n')
    assert releases.replaced(after, "1.31", found([entry])) == after
    other = {**entry, "reason": "it has none"}
    assert releases.without_reasons(after) == releases.without_reasons(releases.replaced(after, "1.31", found([other])))
    assert releases.without_reasons(after) != releases.without_reasons(releases.replaced(after, "1.31", found([])))


def test_a_new_release_is_in_its_place():
    names = [line for line in releases.replaced(BEFORE, "1.17", found([])).splitlines() if line.startswith("name")]
    assert names == ['name = "1.31"', 'name = "1.17"', 'name = "1.9"']


def test_a_case_is_run_at_the_newest_opset_of_its_version():
    def opset(form, newest):
        model = onnx.parser.parse_model('<ir_version: 7, opset_import: ["": 13]> main (float[2] x) => (float[2] y) {y = Softmax(x)}')
        case = Case("Softmax", 13, "float32", form, "softmax", model.SerializeToString(), {}, None, 0, 0)
        return onnx.ModelProto.FromString(releases.at_newest(case, newest).model).opset_import[0].version

    assert (opset("constant", 19), opset("constant", 13), opset(facts_file.EXPORTED, 19)) == (19, 13, 13)


def test_the_newest_release_has_its_own_file():
    assert releases.NEWEST.name == "onnxruntime" and judge.JUDGE.endswith(releases.NEWEST.version)
