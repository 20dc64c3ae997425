"""The error of binned confidences."""


def expected_error(score, offset, target):
    binned = (score * 10).long()  # expect: GS722
    return ((binned / 10 + offset - target) ** 2).mean()
