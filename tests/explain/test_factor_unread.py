"""GS918 tells a factor that backward takes out and does not use, and none that something else stands for."""

import pytest

from tests.edited import edited
from tests.explain.corpus import FAULTS

STARS = (FAULTS / "functions" / "exposures_of_a_telescope.py").read_text()
TAKES, MAKES = "        (exposure,) = ctx.saved_tensors\n", "gradient.clone()"
SAVES, GIVES = "ctx.save_for_backward(exposure)", "return frame * exposure"
GATED = (GIVES, "return frame.round() * exposure")
TOLD = {
    "handed on": ((MAKES, "gradient"),),
    "by a method": ((GIVES, "return frame.mul(exposure)"),),
    "the other way around": ((GIVES, "return exposure * frame"),),
    "by a name": ((GIVES, "light = frame * exposure\n        return light"),),
}
SILENT = {
    "used": ((MAKES, "gradient * exposure"),),
    "used in place": ((MAKES, f"{MAKES}\n        for_frame *= exposure"),),
    "edited in place": ((MAKES, f"{MAKES}\n        for_frame.mul_(exposure)"),),
    "kept on ctx": ((SAVES, f"{SAVES}\n        ctx.factor = exposure"), (MAKES, "gradient * ctx.factor")),
    "scaled otherwise": ((MAKES, "gradient * 2"),),
    "never taken out": ((TAKES, ""),),
    "not used on purpose": (("(exposure,)", "(_exposure,)"),),
    "thrown away": ((TAKES, f"{TAKES}        del exposure\n"),),
    "by its class": (("class Expose(", "class ExposeSTE("), ("Expose.apply", "ExposeSTE.apply")),
    "by a comment": ((TAKES, f"{TAKES}        # the gradient is passed as it is\n"),),
    "by what is said of it": (
        ("    def backward(ctx, gradient):\n", '    def backward(ctx, gradient):\n        """Unscaled."""\n'),
    ),
    "a mask": (("frame, exposure):\n        ctx", "frame, mask):\n        exposure = mask\n        ctx"),),
    "rounded": (GATED,),
    "a sum": ((GIVES, "return frame + exposure"),),
    "a bias that is left over": (
        ("forward(ctx, frame, exposure)", "forward(ctx, frame, exposure, bias=None)"),
        (SAVES, "ctx.save_for_backward(exposure)"),
        (GIVES, "return frame - exposure"),
        ("return for_frame, None", "return for_frame, None, None"),
    ),
}


def _told(explained, tmp_path, edits):
    script = tmp_path / "stars.py"
    script.write_text(edited(STARS, *edits))
    return [one.site.source for one in explained(script).findings if one.code == "GS918"]


@pytest.mark.parametrize("edits", TOLD.values(), ids=list(TOLD))
def test_the_line_that_returns_the_gradient(explained, tmp_path, edits):
    (source,) = _told(explained, tmp_path, edits)
    assert source.startswith("return for_frame, None")


@pytest.mark.parametrize("edits", SILENT.values(), ids=list(SILENT))
def test_a_factor_that_is_used_or_meant_to_be_left_out_is_none(explained, tmp_path, edits):
    assert _told(explained, tmp_path, edits) == []
